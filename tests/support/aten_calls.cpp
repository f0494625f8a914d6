#include "tests/support/aten_calls.h"

#include <mutex>

#include <ATen/record_function.h>

namespace millrace::test {
namespace {

std::mutex mutex;
std::map<std::string, std::int64_t> calls;

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
    const std::lock_guard lock(mutex);
    ++calls[function.name()];
    return nullptr;
}

}  // namespace

AtenCalls::AtenCalls() {
    calls.clear();
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
}

AtenCalls::~AtenCalls() {
    at::removeCallback(handle_);
}

std::map<std::string, std::int64_t> AtenCalls::byName() {
    const std::lock_guard lock(mutex);
    return calls;
}

std::int64_t AtenCalls::total() {
    std::int64_t sum = 0;
    for (const auto& [name, number] : byName()) {
        sum += number;
    }
    return sum;
}

}  // namespace millrace::test
