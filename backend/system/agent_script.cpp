#include "backend/system/agent_script.h"

#include "backend/core/status.h"

namespace millrace {
namespace {

// Runs without a login shell's PATH, so it also searches where pip, --install and packages put
// programs. Hosts may share a home, or have the same name: the directory's name has the host's name
// and a part of its id.
constexpr std::string_view kFindProgram = R"sh(set -e
umask 077
PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/millrace/bin"; export PATH
program=$(command -v millrace || true)
if [ -z "$program" ]; then
    echo "millrace is not installed there for $(id -un): 'millrace up --install --host ssh://HOST' brings it" >&2
    exit 3
fi
host=$(uname -n)-$(cut -c1-8 /etc/machine-id 2>/dev/null || true)
place="${XDG_STATE_HOME:-$HOME/.local/state}/millrace-node-${host%-}"
mkdir -p "$place"
)sh";

}  // namespace

std::string shellWord(std::string_view text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'') {
            word += "'\\''";
        } else {
            word += c;
        }
    }
    return word + "'";
}

std::string agentScript(std::string_view name, std::string_view joinFile) {
    return strCat(kFindProgram, "cat > \"$place/nodes.join.new\" <<'END_OF_THE_JOIN_FILE'\n",
                  joinFile,
                  "END_OF_THE_JOIN_FILE\nmv \"$place/nodes.join.new\" \"$place/nodes.join\"\n",
                  "exec \"${program%/*}/millraced\" --slot --join \"$place/nodes.join\" --name ",
                  shellWord(name), " --state-dir \"$place\"\n");
}

}  // namespace millrace
