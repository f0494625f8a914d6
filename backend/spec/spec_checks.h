#pragma once
// What must fit together in a resolved spec, before its columns are known. Private to the room.
#include <map>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/spec_reader.h"

namespace millrace::spec {

/// Collects errors with the places of a spec's source.
class Problems {
 public:
    Problems(std::shared_ptr<const SourceMap> source, SpecErrors& errors)
        : source_(std::move(source)), errors_(errors) {}
    /// `path` as in the canonical JSON.
    void add(const std::string& path, const char* code, std::string message,
             std::size_t offset = 0);

 private:
    std::shared_ptr<const SourceMap> source_;
    SpecErrors& errors_;
};

/// Writes batch.micro_rows where it is 0 and checks it and the ranks; the JSON is RunSpec's but for
/// that.
void resolveBatch(Json& spec, Problems& problems);
/// Defaults that depend on other keys: model's layers, embeddings' features and dims. `given`: the
/// section `model` as it was read, with the keys of all models.
void resolveModel(RunSpec& spec, const Json& given, bool hasModelKey, Problems& problems,
                  std::vector<std::string>& warnings);
/// Checks that a spec without a dataset has a command and no key for a stream. `spec` is as the
/// reader made it; `given` has the keys that the text or --set gives.
void checkWithoutDataset(const Json& spec, const std::map<std::string, SourceMap::Place>& given,
                         Problems& problems);
/// Everything else. Feature patterns are not yet expanded.
void checkSpec(const RunSpec& spec, Problems& problems, std::vector<std::string>& warnings);

/// Says where it is named that an id feature has no number of ids; of a sequence it is "h.hist".
void refuseWithoutIds(const FeaturesSpec& features, const std::string& feature, Problems& problems);

/// "d*" or "s?": matches names.
bool isPattern(std::string_view name);
bool matchesPattern(std::string_view name, std::string_view pattern);

/// Whether features have that name, or a pattern that may be it.
bool isCovered(const std::string& name, const std::vector<std::string>& features);

}  // namespace millrace::spec
