#pragma once
// Checks of a resolved spec that need no columns. Private to spec.
#include <map>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"
#include "backend/text/json.h"

namespace millrace::spec {

/// Collects errors with positions in a spec's source.
class Problems {
 public:
    Problems(std::shared_ptr<const SourceMap> source, SpecErrors& errors)
        : source_(std::move(source)), errors_(errors) {}
    /// `path` as in the canonical JSON; the message is concatenated as in strCat.
    template <class... P>
    void add(const std::string& path, const char* code, const P&... parts) {
        addAt(path, code, strCat(parts...), 0);
    }
    /// `offset`: of the error in the value.
    void addAt(const std::string& path, const char* code, std::string message, std::size_t offset);

 private:
    std::shared_ptr<const SourceMap> source_;
    SpecErrors& errors_;
};

/// Fills in batch.micro_rows if it is 0, and checks it and the ranks. `spec` is RunSpec's JSON
/// otherwise.
void resolveBatch(Json& spec, Problems& problems);
/// Warns of keys (and of train.dropout) that are for models that are neither this spec's nor among
/// `models`, which the other runs of the spec have. `given`: the section `model` as it was read,
/// with the keys of all models.
void warnOfUnusedKeys(const RunSpec& spec, const Json& given,
                      const std::vector<std::string>& models, std::vector<std::string>& warnings);
/// Fills in defaults that depend on other keys: the model's layers, the embeddings' features and
/// dims.
void resolveModel(RunSpec& spec, bool hasModelKey, Problems& problems);
/// Checks that a spec without a dataset has a command and no key for a stream. `spec` is as the
/// reader made it; `given` has the keys from the text or --set.
void checkWithoutDataset(const Json& spec, const std::map<std::string, SourceMap::Place>& given,
                         Problems& problems);
/// How CSV files are written, at `place` in the messages and `path` in the text.
void checkCsv(const CsvOptions& csv, const std::string& place, const std::string& path,
              Problems& problems);
/// Everything else. Feature patterns are not yet expanded.
void checkSpec(const RunSpec& spec, const SpecOptions& options, Problems& problems,
               std::vector<std::string>& warnings);

/// Says where it is named that an id feature has no number of ids; of a sequence it is "h.hist".
void refuseWithoutIds(const FeaturesSpec& features, const std::string& feature, Problems& problems);

/// "d*" or "s?": matches names.
bool isPattern(std::string_view name);
bool matchesPattern(std::string_view name, std::string_view pattern);

/// Whether features include that name, or a pattern that may match it.
bool isCovered(const std::string& name, const std::vector<std::string>& features);

}  // namespace millrace::spec
