#include "backend/options/stream_options.h"

#include <charconv>

namespace millrace::options {
namespace {

constexpr std::int64_t kRowGroupRowsMax = 100'000'000;
constexpr std::int64_t kRanksMax = 4096;

/// An option and the member that receives its value.
struct Member {
    OptionSpec option;
    void (*set)(StreamOptions& options, const std::vector<std::string>& values);
};

OptionSpec upTo(std::int64_t most, OptionSpec option) {
    option.most = most;
    return option;
}

template <auto kMember>
void setText(StreamOptions& options, const std::vector<std::string>& values) {
    options.*kMember = values.back();
}
template <auto kMember>
void setFlag(StreamOptions& options, const std::vector<std::string>&) {
    options.*kMember = true;
}
template <auto kMember>
void setNumber(StreamOptions& options, const std::vector<std::string>& values) {
    const std::string& text = values.back();
    std::from_chars(text.data(), text.data() + text.size(), options.*kMember);
}
void setSets(StreamOptions& options, const std::vector<std::string>& values) {
    options.sets = values;
}

using S = StreamOptions;

std::vector<Member> whatToRead() {
    return {
        {text("--set", "KEY=VALUE", "sets a key of the spec: batch.seed=8", true), setSets},
        {text("--variation", "NAME", "this variation"), setText<&S::variation>},
        {count("--epochs", "N", "epochs to deliver (the spec's)"), setNumber<&S::epochs>},
        {count("--micro-batches", "N",
               "ends after N micro-batches; the cursor tells where to continue"),
         setNumber<&S::microBatches>},
        {count("--threads", "N", "threads (the spec's, else one a core)"), setNumber<&S::threads>},
    };
}

std::vector<Member> tables() {
    return {
        {choice("--sink", "WHAT",
                "hash reads every value (the default), null none; parquet, arrow and csv write "
                "a table",
                {"hash", "null", "parquet", "arrow", "csv"}),
         setText<&S::sink>},
        {text("--output", "DIR", "the directory to make, of a table"), setText<&S::output>},
        {flag("--force", "replaces the table that is there"), setFlag<&S::isForced>},
        {flag("--rows", "the dataset's own columns of the kept rows, in file order"),
         setFlag<&S::isRows>},
        {flag("--all-rows", "with --rows: also those that dataset.where and the recipe drop"),
         setFlag<&S::isAllRows>},
        {flag("--as-model",
              "carried columns as the model gets them: times as numbers, nulls as 0 or empty"),
         setFlag<&S::isAsModel>},
        {text("--sort", "COLUMNS", "sorts the table: request_id,timestamp"), setText<&S::sort>},
        {text("--columns", "COLUMNS",
              "keeps these columns of the table: names with commas between them; double quotes "
              "around a name that holds a comma"),
         setText<&S::columns>},
        {upTo(kRowGroupRowsMax,
              count("--row-group-rows", "N", "rows of the table's row groups (65536)")),
         setNumber<&S::rowGroupRows>},
        {choice("--codec", "NAME", "compression of Parquet: zstd (the default), lz4, snappy, none",
                {"zstd", "lz4", "snappy", "none"}),
         setText<&S::codec>},
    };
}

std::vector<Member> howToRun() {
    return {
        {flag("--explain", "says where the time went and what one change would buy"),
         setFlag<&S::isExplained>},
        {choice("--data", "WHICH", "train (the default) or eval", {"train", "eval"}),
         setText<&S::part>},
        {text("--from", "CURSOR", "continues from a cursor: its text, or a file's name"),
         setText<&S::from>},
        {choice("--last", "WHAT",
                "of an epoch's last step that has fewer rows than batch.rows: keep it (the "
                "default), or drop it",
                {"keep", "drop"}),
         setText<&S::last>},
        {flag("--through-ring", "through shared memory to a reader process, as in a run"),
         setFlag<&S::isThroughRing>},
        {upTo(kRanksMax,
              count("--ranks", "N",
                    "with --through-ring: N readers, each with a rank's share; what they "
                    "know at the end of each step must be the same")),
         setNumber<&S::ranks>},
    };
}

const std::vector<Member>& offered() {
    static const std::vector<Member> kAll = [] {
        std::vector<Member> all = whatToRead();
        for (const std::vector<Member>& more : {tables(), howToRun()}) {
            all.insert(all.end(), more.begin(), more.end());
        }
        return all;
    }();
    return kAll;
}

const std::vector<Member>& ofTheLoader() {
    static const std::vector<Member> kAll = {
        {choice(
             "--without", "WHAT",
             "omits one part, to measure it: counters, order (segments are delivered as they are "
             "ready), splits, columns or pieces (threads do not steal these), haste (threads "
             "with a segment of their own never steal), or shelves (threads share one list of "
             "free memory)",
             {"counters", "order", "splits", "columns", "pieces", "haste", "shelves"}),
         setText<&S::without>},
        {flag("--json", "prints one JSON document"), setFlag<&S::isJson>},
    };
    return kAll;
}

std::vector<OptionSpec> optionsOf(const std::vector<Member>& members) {
    std::vector<OptionSpec> options;
    for (const Member& member : members) {
        options.push_back(member.option);
    }
    return options;
}

}  // namespace

const std::vector<OptionSpec>& streamOptions() {
    static const std::vector<OptionSpec> kOptions = optionsOf(offered());
    return kOptions;
}

const std::vector<OptionSpec>& loaderOptions() {
    static const std::vector<OptionSpec> kOptions = optionsOf(ofTheLoader());
    return kOptions;
}

Result<StreamOptions> readStreamOptions(const OptionValues& values) {
    StreamOptions options;
    for (const std::vector<Member>* members : {&offered(), &ofTheLoader()}) {
        for (const Member& member : *members) {
            const auto found = values.find(member.option.name());
            if (found == values.end()) {
                continue;
            }
            for (const std::string& value : found->second) {
                RETURN_IF_ERROR(checkValue(member.option, value));
            }
            member.set(options, found->second);
        }
    }
    return options;
}

}  // namespace millrace::options
