#pragma once
// A question of an SSH connection for the console's dialog. Plain values.
#include <QString>
#include <cstdint>

namespace millrace::gui {

struct SshQuestion {
    enum class Kind { kHostKey, kSecret, kCode, kConfirm, kNotice };
    std::uint64_t id = 0;
    Kind kind = Kind::kSecret;
    QString host;  ///< "ssh://alice@gpu1"
    QString text;  ///< ssh's words

    bool operator==(const SshQuestion&) const = default;
};

}  // namespace millrace::gui
