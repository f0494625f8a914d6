#pragma once
// The questions that an SSH connection asks a person, and the callback that answers them.
//
// Threads: an Ask is called on a thread of the connection and may block until the person has
// answered; it returns soon after `stop`. Failure: returns nothing if the person gave up.
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "backend/system/secrets.h"

namespace millrace::ssh {

enum class QuestionKind {
    kHostKey,  ///< is this the right host? answered "yes", "no" or by its fingerprint
    kSecret,   ///< a passphrase, a password, a PIN: typed without echo
    kCode,     ///< a one-time code: may be shown
    kConfirm,  ///< answered "yes" or "no"
    kNotice,   ///< nothing to answer: "touch your key"; shown until `stop`
};

struct Question {
    QuestionKind kind = QuestionKind::kSecret;
    std::string host;  ///< the address that the client was given
    std::string text;  ///< ssh's words, lines with '\n'
};

using Ask = std::function<std::optional<Secret>(const Question& question, std::stop_token stop)>;

/// The kind of the question that ssh asks with these words. `hint`: SSH_ASKPASS_PROMPT (ssh(1)).
QuestionKind kindOf(std::string_view text, std::string_view hint);

}  // namespace millrace::ssh
