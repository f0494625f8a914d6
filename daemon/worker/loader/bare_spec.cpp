#include "daemon/worker/loader/bare_spec.h"

#include <utility>

namespace millrace::loader {

spec::RunSpec bareSpec(spec::RunSpec spec, spec::FeaturesSpec features) {
    spec.features = std::move(features);
    spec.batch.shuffle = "none";
    spec.model = {};
    spec.model.body = spec::MlpModel();
    spec.source = nullptr;
    return spec;
}

}  // namespace millrace::loader
