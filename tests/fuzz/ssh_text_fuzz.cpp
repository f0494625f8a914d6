// libFuzzer target: input of millrace-ssh: ssh_config files, options, destinations, messages of the
// control socket and an agent's list of keys.
#include <cctype>
#include <cstdlib>
#include <string>

#include "app/ssh/libssh/agent_filter.h"
#include "app/ssh/libssh/config_file.h"
#include "app/ssh/libssh/control.h"
#include "app/ssh/libssh/settings.h"
#include "app/ssh/libssh/stream.h"

namespace {

using namespace millrace::libssh;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// No word of a destination may become an option or a second word of another program's command line.
void requirePlain(const Destination& destination) {
    for (const std::string& word : {destination.host, destination.user}) {
        require(word.empty() || word[0] != '-');
        require(word.find_first_of("'`\";&<>|(){}$\n\r\t \\") == std::string::npos);
    }
    require(!destination.host.empty() && destination.port >= 0 && destination.port <= 65535);
}

void readConfigText(std::string text) {
    // `Include` would read files of this machine.
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        if (std::tolower(static_cast<unsigned char>(text[at])) == 'n' &&
            std::tolower(static_cast<unsigned char>(text[at + 1])) == 'c') {
            text[at] = 'x';
        }
    }
    const ConfigSubject subject{"box", "", "ada", "/none", nullptr};
    const auto lines = parseConfig(text, "config", "/none", subject);
    for (const ConfigLine& line : lines.ok() ? *lines : std::vector<ConfigLine>{}) {
        require(line.key == lowerCase(line.name) && !line.value.empty());
        require(line.value.find('\n') == std::string::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    readConfigText(text);
    const auto option = parseOption(text);
    require(!option.ok() || (option->key == lowerCase(option->key) && !option->value.empty()));
    for (const bool hasPort : {false, true}) {
        const auto destination = parseDestination(text, hasPort);
        if (destination.ok()) {
            requirePlain(*destination);
        }
    }
    const auto jumps = parseJumps(text);
    for (const Destination& jump : jumps.ok() ? *jumps : std::vector<Destination>{}) {
        requirePlain(jump);
    }
    require(joinWords(splitWords(text)) == text);
    // Filtering a filtered list removes nothing more.
    const std::string blob = text.size() > 13 ? text.substr(9, 4) : "none";
    const std::string filtered = filteredIdentities(text, {blob});
    require(filteredIdentities(filtered, {blob}) == filtered);
    require(filtered.size() <= text.size() + 4);
    openFailureOf(text);
    return 0;
}
