#pragma once
// The example of the design, and what its columns look like.
#include <string>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/spec/run_spec.h"

namespace millrace::spec {

inline constexpr const char* kMovieLens = R"yaml(
name: movielens-dlrm
dataset: {path: "ratings.csv", where: "hash01(userId, movieId) < 0.8"}   # or "s3://bucket/log/day=*/*.parquet"; csv, arrow
recipe:                                          # the steps run in this order; a variation addresses them by name or kind
  - filter: rating is not null and userId <> 0
  - {name: spam, enabled: false, anti_join: {table: spam_users.csv, on: userId}}
  - join: {table: movies.csv, on: movieId, take: {genres: "split(genres, '|')", year: "try_cast(regexp_extract(title, '\\((\\d{4})\\)', 1) as int)"}}
  - derive: {age_years: "(timestamp / 31557600 + 1970) - year", is_new: year >= 2000}
  - sample: {where: "rating < 4.0", keep: 1.0, weight: inverse, by: [userId, movieId]}
labels: {liked: rating >= 4.0}                   # one head each; {expr, weight, where} in full
features: {dense: [age_years, is_new], ids: [userId, movieId], lists: [genres], carry: [timestamp]}
embeddings: {userId: {rows: 8192}, movieId: {rows: 65536}, genres: {rows: 1024}}   # ids are hashed into rows unless a vocabulary is given
batch: {rows: 1024, micro_rows: 256, epochs: 3, seed: 7, shuffle: rows}
model: {type: dlrm, embedding_dim: 16, bottom: [32, 16], top: [64, 1]}
train: {optimizer: adamw, learning_rate: 0.003, precision: fp32, ranks: 1, threads: 1, checkpoint: {every_steps: 100, keep: 3}, max_restarts: 3}
eval:  {dataset: {where: "hash01(userId, movieId) >= 0.8"}, every_steps: 100, metrics: [auc, normalized_entropy, calibration]}
resources: {data_workers: {min: 0, max: 8}, gpus_per_rank: 1, memory_limit_mb: 4096}
variations:
  - {name: keep-30, set: {recipe.sample.keep: 0.3}}
  - {name: no-spam, set: {recipe.spam.enabled: true}}
  - {name: label-3.5, set: {labels.liked: "rating >= 3.5"}}
)yaml";

inline expr::DataType typeNamed(const char* name) {
    return expr::parseType(name).value();
}

inline expr::Schema ratingsSchema() {
    return {{{"userId", typeNamed("int64")},
             {"movieId", typeNamed("int64")},
             {"rating", typeNamed("double")},
             {"timestamp", typeNamed("int64")}}};
}

inline TableSchemaLookup movieTables() {
    return [](const TableRef& table) -> Result<expr::Schema> {
        const std::string path = table.text();
        if (path == "movies.csv") {
            return expr::Schema{{{"movieId", typeNamed("int64")},
                                 {"title", typeNamed("string")},
                                 {"genres", typeNamed("string")},
                                 {"from", typeNamed("string")}}};
        }
        if (path == "spam_users.csv") {
            return expr::Schema{{{"userId", typeNamed("int64")}}};
        }
        return notFound(path, ": no such file");
    };
}

}  // namespace millrace::spec
