#include "backend/spec/step.h"

#include "backend/core/status.h"

namespace millrace::spec {

std::string_view Step::kind() const {
    return stepKind(body);
}

std::string Step::line() const {
    return strCat(kind(), ": ", std::visit([](const auto& kind) { return kind.text(); }, body));
}

bool Step::dropsOrWeighs() const {
    return std::visit([](const auto& kind) { return kind.kDropsOrWeighs; }, body);
}

bool Step::keepsColumns() const {
    return std::visit([](const auto& kind) { return kind.kKeepsColumns; }, body);
}

bool Step::makesIds() const {
    return std::visit([](const auto& kind) { return kind.kMakesIds; }, body);
}

bool Step::draws() const {
    return std::visit([](const auto& kind) { return kind.kDraws; }, body);
}

StepReads Step::reads() const {
    return std::visit([](const auto& kind) { return kind.reads(); }, body);
}

std::vector<MadeColumn> Step::makes() const {
    return std::visit([](const auto& kind) { return kind.makes(); }, body);
}

const TableLookup* Step::lookup() const {
    return std::visit([](const auto& kind) { return kind.lookup(); }, body);
}

bool Step::dropsRows() const {
    return std::visit([](const auto& kind) { return kind.dropsRows(); }, body);
}

bool Step::weighs() const {
    return std::visit([](const auto& kind) { return kind.weighs(); }, body);
}

std::string_view Step::handsOn(std::string_view made) const {
    return std::visit([made](const auto& kind) { return kind.handsOn(made); }, body);
}

std::int64_t Step::idCount() const {
    return std::visit([](const auto& kind) { return kind.idCount(); }, body);
}

}  // namespace millrace::spec
