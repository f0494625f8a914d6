#pragma once
// Names of checkpoint files: "step-00000400.a2.safetensors" is attempt 2's of step 400.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::checkpoint {

struct CheckpointName {
    std::int64_t step = 0;  ///< the step it was cut after
    int attempt = 0;        ///< that wrote it

    std::string text() const;
    /// Nothing for any other name: what text() does not give back letter for letter.
    static std::optional<CheckpointName> parse(std::string_view name);
    /// By step, then attempt.
    auto operator<=>(const CheckpointName&) const = default;
};

/// What a writer that was killed leaves: NAME.tmp-PID.
bool isLeftover(std::string_view name);

}  // namespace millrace::checkpoint
