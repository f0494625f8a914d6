#pragma once
// Names of checkpoint files: "step-00000400.a2.safetensors" is from attempt 2 at step 400.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::checkpoint {

struct CheckpointName {
    std::int64_t step = 0;  ///< the step after which it was written
    int attempt = 0;        ///< the attempt that wrote it

    std::string text() const;
    /// Nothing for any other name, including those that text() would spell differently.
    static std::optional<CheckpointName> parse(std::string_view name);
    /// By step, then attempt.
    auto operator<=>(const CheckpointName&) const = default;
};

/// Whether the name is a killed writer's leftover: NAME.tmp-PID.
bool isLeftover(std::string_view name);

}  // namespace millrace::checkpoint
