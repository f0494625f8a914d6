#pragma once
// Names of checkpoint files: "step-00000400.a2.safetensors" is attempt 2's of step 400.
//
// Files of format 1 end in ".ckpt"; the oldest of them left the attempt out ("step-00000400.ckpt"),
// such a file's header tells it.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::checkpoint {

struct CheckpointName {
    enum class Ending : std::uint8_t { kCkpt, kSafetensors };

    std::int64_t step = 0;  ///< the step it was cut after
    int attempt = -1;       ///< that wrote it; -1: the name does not say
    Ending ending = Ending::kSafetensors;

    std::string text() const;
    /// Nothing for any other name: what text() does not give back letter for letter.
    static std::optional<CheckpointName> parse(std::string_view name);
    /// By step, then attempt.
    auto operator<=>(const CheckpointName&) const = default;
};

/// What a writer that was killed leaves: NAME.tmp-PID.
bool isLeftover(std::string_view name);

}  // namespace millrace::checkpoint
