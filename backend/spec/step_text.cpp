#include "backend/spec/step_text.h"

#include <variant>

#include "backend/core/status.h"

namespace millrace::spec {

std::string stepText(const Step& step) {
    return strCat(step.kind(), ": ",
                  std::visit([](const auto& kind) { return kind.text(); }, step.body));
}

}  // namespace millrace::spec
