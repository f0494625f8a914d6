// `millrace host`: manages names of hosts, and tests each step between this machine and a daemon
// there.
#include <chrono>

#include "app/cli/frame/table.h"
#include "app/cli/remote/remote_commands.h"
#include "app/tui/figures.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

using session::HostBook;
using session::NamedHost;
using tui::Tone;

struct Step {
    std::string name;
    bool isOk = false;
    double seconds = 0;
    std::string text;  ///< the finding, or the sentence for a failure
    ExitCode code = kExitFailed;
};

// Runs the steps in order; stops at the first that fails.
class HostTest {
 public:
    HostTest(CliContext& context, const Address& address)
        : context_(context), address_(address), host_(context.hosts->at(address)) {}

    const std::vector<Step>& run() {
        Address bare = address_;
        bare.unixPath.clear();
        step("connect",
             [&]() -> Result<std::string> {
                 ASSIGN_OR_RETURN(const auto connection, host_.connection());
                 const ssh::RemoteHostInfo& facts = connection->facts();
                 return strCat("logged in as ", facts.user, " (", facts.system, ", ",
                               connection->programName(), ")");
             }) &&
            step("programs", [&]() -> Result<std::string> {
                ASSIGN_OR_RETURN(facts_, host_.look(address_.unixPath));
                if (facts_.program.empty()) {
                    return failedPrecondition("millrace is not installed there for ", facts_.user,
                                              "; 'millrace up --install --host ", bare.text(),
                                              "' brings it");
                }
                return strCat(facts_.program, ", version ", facts_.version);
            });
        // A daemon may run there without a program on the PATH.
        if (!facts_.socket.empty()) {
            daemonSteps();
        }
        return steps_;
    }

 private:
    void daemonSteps() {
        step("socket",
             [&]() -> Result<std::string> {
                 if (!facts_.hasSocket) {
                     return ssh::noDaemonThere(facts_, address_.text());
                 }
                 return facts_.socket;
             }) &&
            step("daemon",
                 [&]() -> Result<std::string> {
                     daemon_ = context_.connect(address_);
                     ASSIGN_OR_RETURN(const values::Handshake greeting, daemon_->handshake());
                     return strCat("millraced ", greeting.version);
                 }) &&
            step("list", [&]() -> Result<std::string> {
                ASSIGN_OR_RETURN(const values::DaemonStatus status, daemon_->status());
                return strCat(session::countText(status.runsTotal, "run"), ", ", status.runsRunning,
                              " running");
            });
    }

    bool step(const std::string& name, const std::function<Result<std::string>()>& body) {
        const std::int64_t begin = context_.clock.steadyNs();
        const Result<std::string> result = body();
        Step done;
        done.name = name;
        done.seconds = static_cast<double>(context_.clock.steadyNs() - begin) / 1e9;
        done.isOk = result.ok();
        done.text = result.ok() ? *result : std::string(messageOf(result.status()));
        done.code = exitCodeOf(result.status());
        steps_.push_back(std::move(done));
        return result.ok();
    }

    CliContext& context_;
    const Address address_;
    ssh::Host& host_;
    ssh::RemoteHostInfo facts_;
    std::unique_ptr<client::DaemonClient> daemon_;
    std::vector<Step> steps_;
};

int showTest(CliContext& context, const ParsedArgs& args, const std::vector<Step>& steps) {
    ExitCode code = kExitOk;
    Json list = Json::array();
    Table table({{"STEP"},
                 {"", Align::kLeft, 2},
                 {"TIME", Align::kRight},
                 {"FOUND", Align::kLeft, 20, 0, true}});
    std::string failed;
    for (const Step& step : steps) {
        if (!step.isOk && code == kExitOk) {
            code = step.code;
            failed = step.text;
        }
        list.push_back({{"step", step.name},
                        {"ok", step.isOk},
                        {"seconds", jsonNumber(step.seconds)},
                        {"text", step.text}});
        table.add({step.name,
                   {step.isOk ? "ok" : "no", step.isOk ? Tone::kGood : Tone::kBad},
                   session::preciseDuration(1000 * step.seconds),
                   step.isOk ? step.text : "see below"});
    }
    if (args.isJson()) {
        printDocument(context, {{"ok", code == kExitOk}, {"steps", list}});
        return code;
    }
    context.out << table.render(context.terminal) << std::flush;
    for (const Step& step : steps) {
        if (!step.isOk) {
            context.err << paint(context.errorTerminal, Tone::kBad, step.name + ":") << ' '
                        << shown(context.errorTerminal, step.text) << '\n';
        }
    }
    return code;
}

Result<int> runTest(CliContext& context, const ParsedArgs& args, const std::string& word) {
    ASSIGN_OR_RETURN(const session::DaemonPlace place,
                     asUsage(session::placeOf(word, context.hostBook)));
    const Address& address = place.address;
    if (!address.isSsh) {
        return failUsage(context,
                         strCat(address.text(), " is reached without ssh: 'millrace doctor --host ",
                                address.text(), "' looks at it"));
    }
    HostTest test(context, address);
    return showTest(context, args, test.run());
}

Result<int> runAdd(CliContext& context, const ParsedArgs& args, const std::string& name,
                   const std::string& address) {
    NamedHost host{name, address.empty() ? "ssh://" + name : address, args.text("--remote-dir")};
    RETURN_IF_ERROR(
        HostBook::change(context.hostBook, [&](HostBook& book) { return book.put(host); }));
    if (args.isJson()) {
        printDocument(context, {{"name", name}, {"address", host.address}});
    } else {
        context.out << name << " is " << host.address << "; 'millrace host test " << name
                    << "' tries it, --host " << name << " takes it\n";
    }
    return kExitOk;
}

Result<int> runList(CliContext& context, const ParsedArgs& args) {
    ASSIGN_OR_RETURN(const HostBook book, HostBook::read(context.hostBook));
    if (args.isJson()) {
        Json list = Json::array();
        for (const NamedHost& host : book.all()) {
            list.push_back(
                {{"name", host.name}, {"address", host.address}, {"remote_dir", host.remoteDir}});
        }
        printDocument(context, {{"hosts", list}});
        return kExitOk;
    }
    Table table({{"NAME"}, {"ADDRESS"}, {"RELATIVE PATHS BEGIN AT", Align::kLeft, 8, 1}});
    for (const NamedHost& host : book.all()) {
        table.add({{host.name, Tone::kStrong},
                   host.address,
                   {host.remoteDir.empty() ? "the home there" : host.remoteDir,
                    host.remoteDir.empty() ? Tone::kDim : Tone::kPlain}});
    }
    context.out << (table.isEmpty()
                        ? "no host has a name; 'millrace host add NAME ssh://HOST' gives "
                          "one\n"
                        : table.render(context.terminal));
    return kExitOk;
}

Result<int> runRemoveHost(CliContext& context, const ParsedArgs& args, const std::string& name) {
    RETURN_IF_ERROR(
        HostBook::change(context.hostBook, [&](HostBook& book) { return book.remove(name); }));
    if (args.isJson()) {
        printDocument(context, {{"removed", name}});
    } else {
        context.out << name << " is forgotten; nothing changed on the host\n";
    }
    return kExitOk;
}

}  // namespace

Result<int> runHost(CliContext& context, const ParsedArgs& args) {
    const std::string& action = args.words.front();
    const std::string first = args.words.size() > 1 ? args.words[1] : "";
    const std::string second = args.words.size() > 2 ? args.words[2] : "";
    const std::size_t wanted = action == "ls" ? 1 : 2;
    const bool mayHaveMore = action == "add" && args.words.size() == 3;
    if (action != "add" && action != "ls" && action != "rm" && action != "test") {
        return failUsage(context, strCat("millrace host: '", action, "' is not an action",
                                         nameHint(action, {"add", "ls", "rm", "test"})));
    }
    if (args.words.size() != wanted && !mayHaveMore) {
        return failUsage(context, strCat("millrace host ", action,
                                         action == "ls"    ? " takes no more words"
                                         : action == "add" ? " needs NAME and ssh://HOST"
                                                           : " needs one NAME"));
    }
    if (args.has("--remote-dir") && action != "add") {
        return failUsage(context, "--remote-dir belongs to 'millrace host add'");
    }
    if (action == "ls") {
        return runList(context, args);
    }
    if (action == "test") {
        return runTest(context, args, first);
    }
    return action == "rm" ? runRemoveHost(context, args, first)
                          : runAdd(context, args, first, second);
}

}  // namespace millrace::cli
