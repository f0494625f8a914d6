#include "app/gui/pages/launch/spec_template.h"

namespace millrace::gui {

QString specTemplate() {
    return QStringLiteral(
        R"(# A run: which rows are read, what is made of them, and what is trained.
# Ctrl+Space shows what is allowed at the cursor; the base directory is what paths are relative to.
name: my-run
dataset:
  path: ratings.csv                # files or globs; csv, parquet or arrow
  where: hash01(userId, movieId) < 0.8
recipe:
  - filter: rating is not null
  - {name: negatives, sample: {where: "rating < 4.0", keep: 1.0, weight: inverse, by: [userId, movieId]}}
labels: {liked: "rating >= 4.0"}
features:
  ids: [userId, movieId]
embeddings:
  userId: {rows: 8192}
  movieId: {rows: 65536}
batch: {rows: 512, micro_rows: 256, epochs: 3, seed: 7}
model: {type: mlp, embedding_dim: 16, hidden: [64, 32]}
train:
  optimizer: adamw
  learning_rate: 0.003
eval:
  dataset: {where: "hash01(userId, movieId) >= 0.8"}
  every_steps: 100
variations:
  - {name: keep-30, set: {recipe.negatives.keep: 0.3}}
  - {name: keep-10, set: {recipe.negatives.keep: 0.1}}
)");
}

}  // namespace millrace::gui
