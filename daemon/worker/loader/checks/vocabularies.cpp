#include "daemon/worker/loader/checks/vocabularies.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

}  // namespace

Status checkVocabularies(const spec::RunSpec& spec, const stream::Plan& plan) {
    spec::FeaturesSpec features;
    std::map<std::string, spec::EmbeddingSpec> embeddings;
    for (const auto& [name, embedding] : spec.embeddings) {
        if (!embedding.vocabulary || embedding.vocabulary->isCounted()) {
            continue;
        }
        spec::EmbeddingSpec plain = embedding;
        plain.features.clear();
        const auto takeFrom = [&](const std::vector<std::string>& all,
                                  std::vector<std::string>& into) {
            for (const std::string& feature : embedding.features) {
                if (std::ranges::find(all, feature) != all.end()) {
                    into.push_back(feature);
                    plain.features.push_back(feature);
                }
            }
        };
        takeFrom(spec.features.ids, features.ids);
        takeFrom(spec.features.lists, features.lists);
        if (!plain.features.empty()) {
            embeddings[name] = std::move(plain);
        }
    }
    if (embeddings.empty()) {
        return okStatus();
    }
    spec::RunSpec looked = bareSpec(spec, std::move(features));
    looked.embeddings = std::move(embeddings);
    looked.eval.reset();
    const Status status =
        SplitStream::open(std::move(looked), plan, {.mostBytes = kMostBytes}).status();
    return absl::IsResourceExhausted(status) ? okStatus() : status;
}

}  // namespace millrace::loader
