#include "app/cli/command_table.h"

#include <utility>

#include "app/cli/commands.h"
#include "app/cli/data/data_commands.h"
#include "app/cli/remote/remote_commands.h"
#include "backend/options/stream_options.h"
#include "backend/text/text.h"

namespace millrace::cli {
namespace {

const ArgumentSpec kOneRun{"RUN", 1, 1, "id, uid or name, or the beginning of one",
                           Completes::kRun};
// About as many as fit on one command line.
constexpr int kRunsMost = 100'000;
const ArgumentSpec kRuns{"RUN", 1, kRunsMost, "ids, uids or names, or their beginnings",
                         Completes::kRun};
const ArgumentSpec kOneToChange{"RUN", 1, 1, "id, uid or name, or the beginning of an id with r-",
                                Completes::kRun};
const ArgumentSpec kRunsToChange{
    "RUN", 1, kRunsMost, "ids, uids or names, or beginnings of ids with r-", Completes::kRun};
const ArgumentSpec kSpec{"SPEC", 1, 1, "the run's YAML file", Completes::kFile};

using options::choice;
using options::flag;
using options::integer;
using options::text;

void append(const std::vector<options::OptionSpec>& more, std::vector<options::OptionSpec>& to) {
    to.insert(to.end(), more.begin(), more.end());
}

// A repeatable option has `true` as its last argument. `millrace check` takes these, too.
std::vector<options::OptionSpec> specOptions() {
    return {text("--set", "KEY=VALUE",
                 "sets a key of the spec, VALUE as YAML or a text: train.learning_rate=0.01", true),
            text("--variation", "NAME", "this variation, without the base", true),
            flag("--all-variations", "the base and every variation of the spec")};
}

std::vector<options::OptionSpec> submitOptions() {
    std::vector<options::OptionSpec> options = specOptions();
    append({flag("--watch", "follows the runs to their end (default on a terminal)"),
            flag("--detach", "returns as soon as the runs are queued"),
            flag("--plain", "with --watch: prints lines, no full-screen view"),
            text("--key", "KEY", "the same key gives the same runs; refused for other changes"),
            text("--name", "NAME", "names the runs (the spec's `name`, else its file's)"),
            text("--project", "NAME", "files the runs under this project"),
            text("--tag", "KEY=VALUE", "adds a tag", true),
            text("--note", "TEXT", "a note instead of the spec's"),
            text("--env", "NAME", "this variable of the environment goes with a script too", true),
            text("--remote-dir", "DIR",
                 "over ssh: where relative paths of the spec begin there (the home)"),
            flag("--there", "over ssh: SPEC is a file of the host"),
            text("--upload", "FILE",
                 "over ssh: brings this file, which the spec names, of at most 64 MB", true)},
           options);
    return options;
}

options::OptionSpec csvFlag(const std::string& rows) {
    return flag("--csv", strCat("prints CSV with the names of --json, ", rows));
}

CommandSpec logsCommand() {
    return {
        "logs",
        "print the log lines of a run's workers",
        "Lines of level debug, such as the routine messages of Millrace's own workers, are left "
        "out; warnings and errors are not.",
        {kOneRun},
        {flag("-f,--follow", "waits for more until the run has ended"),
         text("-w,--worker", "NAME", "only this worker: feed, rank0", true),
         options::count("-n,--tail", "N", "only the last N lines"),
         flag("--all", "lines of level debug too")},
        {"millrace logs -f r-abc23 --worker rank0"},
        &runLogs};
}

CommandSpec listCommand() {
    return {
        "ls",
        "list runs, newest first",
        "The runs of one submit are shown together, the base first. All of the filters: "
        "docs/reference/filters.md.",
        {},
        {text("-f,--filter", "EXPR", "only runs that match"),
         text("--order-by", "KEY", "\"metrics.eval.auc DESC\", \"start_time\"", true),
         options::count("-n,--limit", "N", "at most N runs (50)"),
         flag("--deleted", "deleted runs instead"), flag("--all", "deleted runs too"),
         text("--columns", "NAMES",
              "comma-separated: id,name,state,loss,params.batch.seed,... or names of --json"),
         flag("-q,--quiet", "ids only"), csvFlag("one row per run; with --columns only these")},
        {"millrace ls --filter \"metrics.eval.auc > 0.79\" --order-by \"metrics.eval.auc DESC\"",
         "millrace ls --filter \"since 7d and (tags.team = 'ads' or not state = 'finished')\"",
         "millrace ls --csv --columns id,loss,params.train.learning_rate"},
        &runList};
}

// The order of commands and options is that of help, completion and docs/reference/cli.md, which is
// generated: `millrace help --markdown`.
std::vector<CommandSpec> runCommands() {
    return {
        {"run",
         "submit a spec and follow it",
         "Reads the spec on the daemon's side, queues the base run (or the variations asked for) "
         "and follows them. Ctrl-C leaves the view; the runs go on.",
         {kSpec},
         submitOptions(),
         {"millrace run movielens.yaml --all-variations",
          "millrace run movielens.yaml --name wider --set 'model.hidden=[128, 64]'",
          "millrace run movielens.yaml --set train.learning_rate=0.01 --detach",
          "millrace run movielens.yaml --watch --json | jq 'select(.type == \"end\")'"},
         &runSubmit},
        {"wait",
         "wait until runs have ended",
         "Prints their last state. Exit code 5 when one failed, 3 when one was cancelled.",
         {kRuns},
         {integer("--timeout", "SECONDS", "gives up after this long, with exit code 1")},
         {"millrace wait r-abc23 && echo done"},
         &runWait},
        {"resume",
         "continue a stopped or failed run from its last checkpoint",
         "A run that has no checkpoint can only begin again: asked on a terminal, refused "
         "elsewhere without --from-start. What it has reported after the step goes when the "
         "new attempt begins to work; its files are set aside, not removed. If none begins, a "
         "finished run stays so.",
         {kOneToChange},
         {integer("--step", "N", "from the checkpoint of this step"),
          integer("--ranks", "N", "with N ranks, which divide the micro-batches of a step"),
          integer("--nodes", "N", "with its ranks on N nodes, the head's among them"),
          flag("--from-start", "from step 0, whatever checkpoints there are"),
          flag("--watch", "follows the run"), flag("--plain", "with --watch: prints lines")},
         {"millrace resume r-abc23 --watch"},
         &runResume},
        {"stop",
         "end runs with a checkpoint",
         "",
         {kRunsToChange},
         {integer("--grace", "SECONDS", "time for the checkpoint (15)"),
          text("--reason", "TEXT", "shown as the reason"),
          flag("--wait", "returns when they have ended")},
         {"millrace stop r-abc23", "millrace stop r-abc23 --wait"},
         &runStop},
        {"rm",
         "delete runs that have ended, or restore them",
         "'ls --deleted' lists them, --undo restores them; their checkpoints go after 30 days "
         "(millraced --keep-deleted-days). --purge asks, and frees all at once and for good.",
         {kRunsToChange},
         {flag("--undo,--restore", "restores deleted runs"),
          flag("--purge", "deletes files, metrics and plan; cannot be undone"),
          flag("-y,--yes", "with --purge: asks nothing; needed where there is no terminal")},
         {"millrace rm r-abc23", "millrace rm --undo r-abc23", "millrace rm --purge r-abc23"},
         &runRemove},
        listCommand(),
        {"show",
         "everything about one run",
         "State, what the variation changes, metrics, the receipt as a funnel, checkpoints, "
         "environment.",
         {kOneRun},
         {flag("--spec", "prints the spec as submitted"),
          flag("--params", "all keys of the resolved spec too"),
          flag("--plan", "prints the plan as JSON: files and splits, pinned at the submit"),
          flag("--receipt", "prints the receipt as JSON: of many files all")},
         {"millrace show movielens-dlrm"},
         &runShow},
        {"watch",
         "follow runs live",
         "Keys: q leaves, Tab and arrows change run and metric. Without a terminal: lines.",
         {kRuns},
         {flag("--plain", "prints lines, no full-screen view")},
         {"millrace watch r-abc23"},
         &runWatch},
        logsCommand(),
        {"compare",
         "runs side by side: what differs, and what came out",
         "Says whether all were evaluated on the same rows, and names files that were rewritten "
         "between them.",
         {{"RUN", 0, kRunsMost, "two or more ids or names", Completes::kRun}},
         {text("-f,--filter", "EXPR", "all runs that match"),
          text("-m,--metric", "NAME", "these metrics only", true), csvFlag("one row per run")},
         {"millrace compare r-abc23 r-def45", "millrace compare --filter \"tags.team = 'ads'\""},
         &runCompare},
        {"metrics",
         "the series of a run's metrics",
         "For metrics that several ranks report, shows minimum, median and maximum, with the ranks "
         "that reported them.",
         {kOneRun},
         {text("--name", "NAME", "this metric only", true),
          integer("--rank", "R", "what this rank measured itself, from 0"),
          integer("--points", "N", "at most N points a series, extremes kept (2000; 20 as text)"),
          csvFlag("one row per point")},
         {"millrace metrics r-abc23 --name loss --json",
          "millrace metrics r-abc23 --points 100000 --csv > metrics.csv"},
         &runMetrics},
    };
}

CommandSpec previewCommand() {
    return {
        "preview",
        "estimate within seconds the rows that a spec keeps, and its cost",
        "Runs some splits, drawn at random, through the whole recipe and says what all of them "
        "would give: rows kept, positives, bytes, cores and time, each with its 95 % interval "
        "(a ratio estimate over splits). Needs no daemon.",
        {kSpec},
        {text("--set", "KEY=VALUE", "sets a key of the spec: recipe.sample.keep=0.1", true),
         text("--variation", "NAME", "this variation"),
         integer("--rows-per-second", "N", "what the ranks take together: cores and bytes for it"),
         integer("--seconds", "N", "time for samples (3)"),
         integer("--threads", "N", "of the loader, for the epoch's time (the spec's, else cores)")},
        {"millrace preview movielens.yaml --variation keep-30",
         "millrace preview log.yaml --rows-per-second 200000"},
        &runPreview,
        Reaches::kNothing};
}

// How files are read that no spec describes yet.
std::vector<options::OptionSpec> withReading(std::vector<options::OptionSpec> options) {
    append({choice("--format", "FORMAT", "of the files (by the first one's ending)",
                   {"parquet", "csv", "arrow"}),
            text("--delimiter", "CHARACTER",
                 "between the fields of CSV files, or tab (by the first one's ending)"),
            text("--csv", "KEY=VALUE",
                 "how CSV files are written, with a key of dataset.csv: "
                 "decimal_comma=true, on_bad_row=drop, null_values=[-, none]",
                 true)},
           options);
    return options;
}

CommandSpec headCommand() {
    return {"head",
            "print the first rows of a dataset",
            "Needs no spec and no daemon. Rows are in the order of the files.",
            {{"PATH", 1, 100, "files or globs in quotes", Completes::kFile}},
            withReading({integer("-n,--rows", "N", "rows, at most 1000 (10)")}),
            {"millrace head 'log/*.parquet'", "millrace head ratings.tsv -n 3 --json"},
            &runHead,
            Reaches::kLoaderThere};
}

CommandSpec initCommand() {
    return {
        "init",
        "write a first spec for a dataset",
        "Looks at some row groups and guesses: what is to be predicted, which columns are numbers, "
        "ids and lists, how large their tables should be. Where there is a time, the latest tenth "
        "is kept for evaluation, else a tenth by a hash. Features that tell the label by "
        "themselves "
        "are named. What is written has passed a check, was trained for ten steps and evaluated, "
        "within two minutes; where one of them fails nothing is written. An installation without "
        "a trainer, such as a wheel, leaves that out. Says for each column what it is used as, and "
        "why, as the comments in the spec do. Needs no daemon.",
        {{"PATH", 1, 100, "files or globs in quotes", Completes::kFile}},
        withReading(
            {text("-o,--output", "FILE", "where the spec is written (else it is printed)"),
             flag("--force", "replaces the file"),
             text("--label", "COLUMN",
                  "what is to be predicted: a column, or a condition (guessed by name and values)"),
             text("--request", "COLUMN", "the column that tells requests apart (guessed)"),
             integer("--seconds", "N", "time for reading (4)"),
             flag("--explain", "prints what was seen of each column, and the rules")}),
        {"millrace init 'log/*.parquet' -o first.yaml", "millrace init ratings.csv --label rating",
         "millrace init prices.csv --delimiter ';' --csv decimal_comma=true -o prices.yaml"},
        &runInit,
        Reaches::kNothing};
}

CommandSpec countCommand() {
    return {
        "count",
        "how many rows and steps each epoch of a spec has",
        "Exact, where preview estimates. Reads all rows of the columns that decide which are kept, "
        "and no others; where every row is, none. What was counted is kept with the files' facts, "
        "and counted again when files, recipe or seed change. Whole steps are those that "
        "`stream --last drop` delivers. Needs no daemon.",
        {kSpec},
        {text("--set", "KEY=VALUE", "sets a key of the spec: batch.seed=8", true),
         text("--variation", "NAME", "this variation"),
         options::count("--threads", "N", "threads (the spec's, else one a core)")},
        {"millrace count movielens.yaml",
         "millrace count movielens.yaml --variation keep-30 --json"},
        &runCount,
        Reaches::kNothing};
}

std::vector<CommandSpec> dataCommands() {
    CommandSpec stream{"stream",
                       "run the loader alone and report",
                       "Reads, processes and collates the data of a spec as a run would, without "
                       "training, and says how fast. With --sink parquet, arrow or csv the "
                       "variation becomes a table: features, labels and weights, or, with --rows, "
                       "the dataset's own columns of the rows that are kept. A table appears whole "
                       "or not at all. Needs no daemon.",
                       {kSpec},
                       options::streamOptions(),
                       {"millrace stream movielens.yaml --epochs 1 --json",
                        "millrace stream movielens.yaml --explain",
                        "millrace stream log.yaml --rows --sink parquet --output sorted --sort "
                        "request_id"},
                       &runStream,
                       Reaches::kNothing};
    CommandSpec check{
        "check",
        "read a spec and say what is wrong with it",
        "Types every expression against the dataset's schema. Needs no daemon, but only one "
        "knows the run of `train.init_from`.",
        {kSpec},
        specOptions(),
        {"millrace check movielens.yaml --all-variations"},
        &runCheck,
        Reaches::kLoaderThere};
    CommandSpec dataset{
        "dataset",
        "the schema, rows, row groups and size of a dataset",
        "Reads file footers only, unless --profile asks what the values are like: nulls, distinct "
        "values, quantiles and list lengths by column, what each costs to read, and what could be "
        "written better, with the command that does it. Needs no daemon.",
        {{"PATH", 1, 100, "files or globs in quotes", Completes::kFile}},
        withReading(
            {flag("--files", "files and their row groups too"),
             flag("--profile", "reads some row groups and says what is in them"),
             flag("--full", "with --profile: reads all of them"),
             integer("--seconds", "N", "with --profile: time for reading (4)"),
             text("--request", "COLUMN", "with --profile: the column that tells requests apart")}),
        {"millrace dataset 'log/day=*/*.parquet'", "millrace dataset ratings.csv --files",
         "millrace dataset 'log/*.parquet' --profile"},
        &runDataset,
        Reaches::kLoaderThere};
    CommandSpec sample{
        "sample",
        "rows of the dataset before the recipe and after each of its steps",
        "Runs the recipe over a few rows as training would in its first epoch; rows "
        "that a step removes are marked with '-', columns that it adds with '+'. "
        "Needs no daemon.",
        {kSpec},
        {text("--set", "KEY=VALUE", "sets a key of the spec: batch.seed=8", true),
         text("--variation", "NAME", "this variation's recipe"),
         integer("--rows", "N", "rows before the recipe, at most 1000 (10)"),
         integer("--split", "N", "the split of the plan to read, from 0 (0)"),
         integer("--first-row", "N", "the row of the split to begin at, from 0 (0)")},
        {"millrace sample movielens.yaml --variation keep-30",
         "millrace sample movielens.yaml --rows 50 --split 3 --json"},
        &runSample,
        Reaches::kLoaderThere};
    return {std::move(check),  previewCommand(), std::move(sample),  countCommand(),
            std::move(stream), headCommand(),    std::move(dataset), initCommand()};
}

std::vector<CommandSpec> daemonCommands() {
    return {
        {"up",
         "start the daemon of this user",
         "Returns when it answers; one that runs already is fine if it has the settings that are "
         "asked for: others need 'millrace down' first. --host decides where it listens. "
         "With --nodes, agents of further nodes run beside it on the same machine, and data "
         "workers "
         "of runs are spread over them; with --hosts they run on other hosts, where the same build "
         "of Millrace and the same paths of data must be.",
         {},
         {text("--state-dir", "DIR", "where runs are kept"),
          text("--bin-dir", "DIR", "where the workers' programs are"),
          text("--log-file", "PATH", "where the daemon writes its log"),
          text("--config", "PATH", "the daemon's configuration (STATE/millraced.yaml)"),
          integer("--nodes", "N", "N nodes in all on this machine (1)"),
          text("--hosts", "NAMES", "agents on these hosts too, over ssh: a,b"),
          text("--nodes-listen", "HOST", "this machine as agents of other hosts reach it"),
          text("--nodes-address", "HOST", "what agents dial, where they cannot dial what is bound"),
          flag("--no-train-here", "runs train on the other nodes only"),
          flag("--take-over", "takes the runs over from a daemon elsewhere that has ended"),
          text("--tls-cert", "FILE", "PEM certificate of the daemon"),
          text("--tls-key", "FILE", "its key"),
          text("--tls-ca", "FILE", "signs the clients'; their roles are in the configuration"),
          flag("--insecure-loopback", "TCP on loopback without TLS, for tests"),
          flag("--install", "over ssh: brings the programs of this version there first"),
          text("--programs", "DIR", "with --install: these programs (those beside millrace)")},
         {"millrace up", "millrace up --nodes 3", "millrace up --nodes 3 --no-train-here",
          "millrace up --nodes-listen gpu1 --hosts cpu1,cpu2",
          "millrace up --host ssh://alice@gpu1 --install"},
         &runUp},
        {"down",
         "end all runs with a checkpoint, and the daemon",
         "Queued runs stay queued, and so do runs whose start is still being prepared. (A SIGTERM "
         "ends the daemon alone; its runs go on. One that comes while runs end is obeyed when they "
         "have, after 75 s at most.)",
         {},
         {integer("--grace", "SECONDS", "time for the checkpoints (15)")},
         {"millrace down"},
         &runDown},
        {"doctor",
         "what is wrong with the daemon and its run store",
         "Looks through the store while the daemon goes on. Ends with 1 when something is wrong.",
         {},
         {flag("--whole", "also through the store's indexes; takes longer")},
         {"millrace doctor"},
         &runDoctor},
    };
}

std::vector<CommandSpec> nodeCommands() {
    return {
        {"nodes",
         "the nodes: cores, memory, GPUs",
         "'drain' moves the work of a node to other nodes and places nothing new there. Its data "
         "workers start on other nodes. Runs that train there stop all ranks after the same step, "
         "write a checkpoint and resume on other nodes; this uses none of their restarts. "
         "'undrain' reverts it. 'invite' prints a join file that lets the agent of one node in, "
         "under that name only; 'forget' revokes it, ends the agent with its workers and starts "
         "its work elsewhere. All persist when the daemon restarts; a node that is forgotten, or "
         "whose agent has left, is not drained any more.",
         {{"WHAT", 0, 1, "drain, undrain, invite or forget; without it, lists the nodes"},
          {"NODE", 0, 64, "names of the nodes; with invite, one"}},
         {flag("--wait", "with drain: returns when no work is left on the nodes"),
          text("-o,--output", "FILE", "with invite: where the join file is written, mode 0600"),
          flag("--force", "with invite: replaces the file")},
         {"millrace nodes", "millrace nodes drain node2 --wait", "millrace nodes undrain node2",
          "millrace nodes invite cpu-1 -o cpu-1.join", "millrace nodes forget cpu-1"},
         &runNodes},
        {"top",
         "live view of nodes and runs",
         "Active runs come first, ended ones below a heading. Keys: q leaves, e hides or shows "
         "ended runs, up and down scroll. Without a terminal: one picture, then it ends.",
         {},
         {flag("--once", "prints one picture as text and ends")},
         {"millrace top"},
         &runTop},
    };
}

// The options for connections to other hosts.
std::vector<options::OptionSpec> sshOptions() {
    return {flag("--ssh-strict", "asks nothing and takes no new host key"),
            choice("--ssh-transport", "WAY",
                   "the system's ssh, or the libssh of millrace-ssh (or MILLRACE_SSH_TRANSPORT)",
                   {"auto", "ssh", "libssh"})};
}

std::vector<CommandSpec> hostCommands() {
    CommandSpec host{
        "host",
        "names of other hosts, and a test of the way there",
        "'host add NAME ssh://[USER@]HOST[:PORT]' names a host for --host and the console; HOST "
        "may "
        "be an alias of ~/.ssh/config. 'host ls' lists them, 'host rm NAME' forgets one, 'host "
        "test "
        "NAME|ssh://HOST' goes there step by step and says what fails (docs/guides/ssh.md).",
        {{"ACTION", 1, 1, "add, ls, rm or test", Completes::kHostAction},
         {"WORD", 0, 2, "a name, and with add an address", Completes::kNothing}},
        {text("--remote-dir", "DIR",
              "with add: where relative paths of specs begin there (the home)")},
        {"millrace host add gpu1 ssh://alice@gpu1.example.org", "millrace host test gpu1"},
        &runHost,
        Reaches::kNothing};
    append(sshOptions(), host.options);
    CommandSpec path{
        "socket-path",
        "where the daemon of this user listens",
        "The socket of a daemon that is there, else where 'millrace up' would make it.",
        {},
        {},
        {"millrace socket-path"},
        &runSocketPath,
        Reaches::kNothing};
    return {std::move(host), std::move(path)};
}

std::vector<CommandSpec> otherCommands() {
    CommandSpec completion{"completion",
                           "the completion script of a shell",
                           "",
                           {{"SHELL", 1, 1, "bash, zsh or fish", Completes::kNothing}},
                           {},
                           {"source <(millrace completion bash)"},
                           &runCompletion,
                           Reaches::kNothing,
                           /*printsData=*/false};
    CommandSpec version{"version", "the version of this program", "",          {},
                        {},        {"millrace version"},          &runVersion, Reaches::kNothing};
    CommandSpec help{"help",
                     "this help, or that of a command",
                     "",
                     {{"COMMAND", 0, 1, "a command's name", Completes::kCommand}},
                     {flag("--markdown", "all of it as docs/reference/cli.md")},
                     {"millrace help run"},
                     &runHelp,
                     Reaches::kNothing,
                     /*printsData=*/false};
    return {std::move(completion), std::move(version), std::move(help)};
}

}  // namespace

const std::vector<CommandSpec>& commandTable() {
    static const std::vector<CommandSpec> kTable = [] {
        std::vector<CommandSpec> all;
        for (auto& [group, commands] : {std::pair("Runs", runCommands()),
                                        {"Data", dataCommands()},
                                        {"Daemon", daemonCommands()},
                                        {"Daemon", nodeCommands()},
                                        {"Daemon", hostCommands()},
                                        {"Other", otherCommands()}}) {
            for (const CommandSpec& command : commands) {
                all.push_back(command);
                all.back().group = group;
            }
        }
        return all;
    }();
    return kTable;
}

const CommandSpec* findCommand(std::string_view name) {
    for (const CommandSpec& command : commandTable()) {
        if (command.name == name) {
            return &command;
        }
    }
    return nullptr;
}

std::vector<options::OptionSpec> optionsOf(const CommandSpec& command) {
    std::vector<options::OptionSpec> options = command.options;
    if (command.printsData) {
        options.push_back(flag("--json", "prints JSON (docs/reference/json.md)"));
    }
    if (command.reaches != Reaches::kNothing) {
        const bool isDaemon = command.reaches == Reaches::kDaemon;
        options.push_back(text(
            "--host", "ADDRESS",
            isDaemon ? "the daemon: ssh://[USER@]HOST[:PORT], a named host, HOST:PORT or unix:PATH "
                       "(or MILLRACE_HOST)"
                     : "ssh://HOST or a named one (or MILLRACE_HOST): paths of data are that "
                       "host's, relative ones begin at its remote_dir or the home there"));
        append(sshOptions(), options);
    }
    options.push_back({"--color",
                       "WHEN",
                       "auto, always or never; NO_COLOR is obeyed",
                       options::ValueKind::kChoice,
                       false,
                       {"auto", "always", "never"}});
    return options;
}

}  // namespace millrace::cli
