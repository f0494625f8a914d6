#include "app/cli/remote/remote_progress.h"

#include "backend/text/text.h"

namespace millrace::cli {

ssh::Progress progressOf(CliContext& context, const std::string& what) {
    if (!context.errorTerminal.isTty) {
        return {};
    }
    return [&context, what](std::int64_t done, std::int64_t all) {
        context.err << "\rbringing " << what << ": " << formatBytes(static_cast<double>(done))
                    << " of " << formatBytes(static_cast<double>(all)) << "  "
                    << (done == all ? "\n" : "") << std::flush;
    };
}

}  // namespace millrace::cli
