#include "app/gui/models/runs/run_column.h"

#include <QCollator>
#include <QObject>
#include <algorithm>
#include <cmath>
#include <functional>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"

namespace millrace::gui {
namespace {

using values::RunSummary;

struct Field {
    const char* key;
    const session::Word* word;
    RunColumnKind kind;
    int width;
    std::function<double(const RunSummary& run, std::int64_t nowMs)> number;  ///< empty: a text
    std::function<std::string(const RunSummary& run)> text;
};

// In a RunSummary 0 means unknown for these fields.
double orNone(std::int64_t value) {
    return value > 0 ? static_cast<double>(value) : kNoNumber;
}

double durationOf(const RunSummary& run, std::int64_t nowMs) {
    if (run.startedMs == 0) {
        return kNoNumber;
    }
    const std::int64_t end = run.endedMs > 0 ? run.endedMs : nowMs;
    return static_cast<double>(std::max<std::int64_t>(0, end - run.startedMs));
}

double progressOf(const RunSummary& run, std::int64_t) {
    const auto& progress = run.progress;
    return progress.stepsTotal > 0 ? 100.0 * static_cast<double>(progress.step) /
                                         static_cast<double>(progress.stepsTotal)
                                   : kNoNumber;
}

constexpr auto kCount = RunColumnKind::kCount;
constexpr auto kTime = RunColumnKind::kTime;

template <class Member>
Field textField(const char* key, const session::Word& word, int width, Member member) {
    return {key, &word, RunColumnKind::kText, width, nullptr, member};
}

/// A number that is unknown if it is 0.
template <class Member>
Field countField(const char* key, const session::Word& word, RunColumnKind kind, int width,
                 Member member) {
    const auto number = [member](const RunSummary& run, std::int64_t) {
        return orNone(std::invoke(member, run));
    };
    return {key, &word, kind, width, number, nullptr};
}

// The order of the column chooser. Keys are stored in the user's settings: they must not change.
std::vector<Field> makeFields() {
    using Run = RunSummary;
    const auto rows = [](const Run& run) { return std::max(run.rowsTrained, run.progress.rows); };
    const auto step = [](const Run& run) { return run.progress.step; };
    const auto state = [](const Run& run, std::int64_t) { return static_cast<double>(run.state); };
    const auto rate = [](const Run& run, std::int64_t) { return run.rate().value_or(kNoNumber); };
    const auto restarts = [](const Run& run, std::int64_t) -> double { return run.restarts; };
    const auto epoch = [](const Run& run, std::int64_t) {
        return run.progress.step > 0 ? static_cast<double>(run.progress.epoch) : kNoNumber;
    };
    return {
        {"state", &word::kState, RunColumnKind::kState, 104, state, nullptr},
        textField("name", word::kName, 190, &Run::name),
        textField("variation", word::kVariation, 130, &Run::variation),
        textField("id", word::kRun, 84, &Run::id),
        countField("started", word::kStarted, kTime, 104, &Run::startedMs),
        {"duration", &word::kDuration, RunColumnKind::kDuration, 92, &durationOf, nullptr},
        countField("rows_trained", word::kRowsTrained, kCount, 100, rows),
        {"rate", &word::kRate, RunColumnKind::kRate, 140, rate, nullptr},
        {"progress", &word::kProgress, RunColumnKind::kNumber, 80, &progressOf, nullptr},
        countField("step", word::kStep, kCount, 72, step),
        {"epoch", &word::kEpoch, kCount, 64, epoch, nullptr},
        countField("rows_read", word::kRowsRead, kCount, 100, &Run::rowsRead),
        countField("rows_kept", word::kRowsKept, kCount, 100, &Run::rowsKept),
        countField("created", word::kCreated, kTime, 104, &Run::createdMs),
        countField("ended", word::kEnded, kTime, 104, &Run::endedMs),
        countField("attempt", word::kAttempt, kCount, 70, &Run::attempt),
        {"restarts", &word::kRestarts, kCount, 72, restarts, nullptr},
        textField("reason", word::kReason, 220, &Run::reason),
        textField("model", word::kModel, 92, &Run::model),
        textField("dataset", word::kDataset, 150, &Run::dataset),
        textField("note", word::kNote, 180, &Run::note),
        textField("owner", word::kOwner, 84, &Run::owner),
        textField("project", word::kProject, 96, &Run::project),
        textField("host", word::kNode, 96, &Run::host),
        textField("spec_hash", word::kSpecHash, 110, &Run::specHash),
        textField("stream_hash", word::kStreamHash, 110, &Run::streamHash),
        textField("eval_order_hash", word::kEvaluationHash, 110, &Run::evalOrderHash),
    };
}

const std::vector<Field>& fields() {
    static const std::vector<Field> kFields = makeFields();
    return kFields;
}

int fieldPlace(const QString& key) {
    const auto found = std::ranges::find_if(
        fields(), [&](const Field& field) { return key == QLatin1String(field.key); });
    return found == fields().end() ? -1 : static_cast<int>(found - fields().begin());
}

const Field* fieldOf(const RunColumnInfo& facts) {
    return facts.field < 0 ? nullptr : &fields()[static_cast<std::size_t>(facts.field)];
}

struct Prefix {
    const char* text;
    RunColumnSource source;
    RunColumnKind kind;
};
constexpr Prefix kPrefixes[] = {
    {"metric:", RunColumnSource::kMetric, RunColumnKind::kNumber},
    {"best:", RunColumnSource::kBest, RunColumnKind::kNumber},
    {"low:", RunColumnSource::kLow, RunColumnKind::kNumber},
    {"high:", RunColumnSource::kHigh, RunColumnKind::kNumber},
    {"trend:", RunColumnSource::kTrend, RunColumnKind::kTrend},
    {"param:", RunColumnSource::kParam, RunColumnKind::kText},
    {"tag:", RunColumnSource::kTag, RunColumnKind::kText},
};

void nameFacts(RunColumnInfo& facts) {
    const QString name = qtext(facts.name);
    const QString metric = metricTitle(facts.name);
    switch (facts.source) {
        case RunColumnSource::kMetric:
            facts.width = 150;
            facts.title = capital(metric);
            facts.tip = QObject::tr("The newest value of %1").arg(name);
            break;
        case RunColumnSource::kBest:
            facts.width = 150;
            facts.title = QObject::tr("Best %1").arg(metric);
            facts.tip = (values::senseOf(facts.name) == values::MetricSense::kLowerIsBetter
                             ? QObject::tr("The lowest value of %1 so far")
                             : QObject::tr("The highest value of %1 so far"))
                            .arg(name);
            break;
        case RunColumnSource::kLow:
            facts.title = QObject::tr("Lowest %1").arg(metric);
            facts.tip = QObject::tr("The lowest value of %1 so far").arg(name);
            break;
        case RunColumnSource::kHigh:
            facts.title = QObject::tr("Highest %1").arg(metric);
            facts.tip = QObject::tr("The highest value of %1 so far").arg(name);
            break;
        case RunColumnSource::kTrend:
            facts.title = QObject::tr("%1 over steps").arg(capital(metric));
            facts.tip =
                QObject::tr("%1 from the first to the last step, least and greatest values kept")
                    .arg(name);
            facts.width = 130;
            break;
        case RunColumnSource::kParam:
            facts.title = name;
            facts.tip = QObject::tr("%1 of the resolved spec").arg(name);
            break;
        default:
            facts.title = name;
            facts.tip = QObject::tr("The tag %1").arg(name);
    }
}

}  // namespace

RunColumnInfo factsOf(const QString& key) {
    RunColumnInfo facts;
    facts.key = key;
    facts.field = fieldPlace(key);
    if (const Field* field = fieldOf(facts)) {
        facts.kind = field->kind;
        facts.title = titleOf(*field->word);
        facts.tip = capital(QString::fromUtf8(field->word->what));
        facts.width = field->width;
        return facts;
    }
    for (const Prefix& prefix : kPrefixes) {
        if (key.startsWith(QLatin1String(prefix.text))) {
            facts.source = prefix.source;
            facts.kind = prefix.kind;
            facts.name = key.mid(static_cast<int>(qstrlen(prefix.text))).toStdString();
            nameFacts(facts);
            return facts;
        }
    }
    facts.title = key;
    facts.tip = QObject::tr("No run knows this column");
    return facts;
}

const std::vector<QString>& fieldKeys() {
    static const std::vector<QString> kKeys = [] {
        std::vector<QString> keys;
        for (const Field& field : fields()) {
            keys.push_back(field.key);
        }
        return keys;
    }();
    return kKeys;
}

double fieldNumber(const RunColumnInfo& facts, const RunSummary& run, std::int64_t nowMs) {
    if (facts.source == RunColumnSource::kMetric) {
        return session::shownValue(run, facts.name).value_or(kNoNumber);
    }
    const Field* field = fieldOf(facts);
    return field != nullptr && field->number != nullptr ? field->number(run, nowMs) : kNoNumber;
}

std::string fieldText(const RunColumnInfo& facts, const RunSummary& run) {
    if (facts.source == RunColumnSource::kTag) {
        const auto found = run.tags.find(facts.name);
        return found == run.tags.end() ? std::string() : found->second;
    }
    const Field* field = fieldOf(facts);
    return field != nullptr && field->text != nullptr ? field->text(run) : std::string();
}

RunColumn::RunColumn(const QString& key) : facts_(factsOf(key)) {}

void RunColumn::resize(std::size_t numRows) {
    if (facts_.isNumeric()) {
        numbers_.resize(numRows, kNoNumber);
    } else {
        codes_.resize(numRows, 0);
    }
}

void RunColumn::remove(std::size_t first, std::size_t count) {
    const auto erase = [&](auto& values) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
        values.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    if (facts_.isNumeric()) {
        erase(numbers_);
    } else {
        erase(codes_);
    }
}

bool RunColumn::setNumber(std::size_t row, double value) {
    double& place = numbers_[row];
    // NaN means "none", and is the same as itself here: a cell without a value does not change.
    const bool isSame = place == value || (std::isnan(place) && std::isnan(value));
    place = value;
    return !isSame;
}

bool RunColumn::setText(std::size_t row, const QString& text) {
    int code = 0;
    if (!text.isEmpty()) {
        const auto known = codeOf_.constFind(text);
        // Codes are never given again: the dictionary keeps texts that no row has any more.
        code = known != codeOf_.constEnd() ? *known : static_cast<int>(dictionary_.size());
        if (known == codeOf_.constEnd()) {
            codeOf_.insert(text, code);
            dictionary_.push_back(text);
        }
    }
    const bool isSame = codes_[row] == code;
    codes_[row] = code;
    return !isSame;
}

double RunColumn::number(std::size_t row) const {
    if (facts_.isNumeric()) {
        return numbers_[row];
    }
    bool isNumber = false;
    const double value = text(row).toDouble(&isNumber);
    return isNumber ? value : kNoNumber;
}

const QString& RunColumn::text(std::size_t row) const {
    return dictionary_[facts_.isNumeric() ? 0 : static_cast<std::size_t>(codes_[row])];
}

bool RunColumn::isEmpty(std::size_t row) const {
    return facts_.isNumeric() ? std::isnan(numbers_[row]) : codes_[row] == 0;
}

double RunColumn::sortKey(std::size_t row) const {
    if (facts_.isNumeric()) {
        return numbers_[row];
    }
    rank();
    return codes_[row] == 0 ? kNoNumber : ranks_[static_cast<std::size_t>(codes_[row])];
}

// Numbers before texts; texts in natural order: r-9 before r-10, ignoring case.
void RunColumn::rank() const {
    // The dictionary only grows, so its size tells whether the ranks are current.
    if (ranks_.size() == dictionary_.size()) {
        return;
    }
    struct Entry {
        bool isText;
        double number;
        QCollatorSortKey key;
        std::size_t code;
    };
    // The same order on every machine, whatever its locale.
    QCollator collator{QLocale(QLocale::English)};
    collator.setNumericMode(true);
    collator.setCaseSensitivity(Qt::CaseInsensitive);
    std::vector<Entry> entries;
    entries.reserve(dictionary_.size());
    for (std::size_t code = 0; code < dictionary_.size(); ++code) {
        bool isNumber = false;
        const double number = dictionary_[code].toDouble(&isNumber);
        entries.push_back({!isNumber || std::isnan(number), isNumber ? number : 0,
                           collator.sortKey(dictionary_[code]), code});
    }
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
        if (a.isText != b.isText) {
            return b.isText;
        }
        if (!a.isText && a.number != b.number) {
            return a.number < b.number;
        }
        // Texts that differ only in case are told apart by their codes: equal ranks would let rows
        // jump between two sorts.
        const int order = a.key.compare(b.key);
        return order != 0 ? order < 0 : a.code < b.code;
    });
    ranks_.assign(dictionary_.size(), 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        ranks_[entries[i].code] = static_cast<double>(i);
    }
}

QString RunColumn::display(std::size_t row, std::int64_t nowMs) const {
    if (!facts_.isNumeric()) {
        return text(row);
    }
    if (facts_.key == QLatin1String("progress") && !std::isnan(numbers_[row])) {
        // Rounded down: 100 % means that the last step is done.
        return QString::number(std::floor(numbers_[row])) + " %";
    }
    return displayText(facts_.kind, numbers_[row], nowMs);
}

QString displayText(RunColumnKind kind, double value, std::int64_t nowMs) {
    if (std::isnan(value)) {
        return {};
    }
    switch (kind) {
        case RunColumnKind::kState: {
            const auto name = nameOf(static_cast<values::RunState>(static_cast<int>(value)));
            return qtext(name);
        }
        case RunColumnKind::kCount:
        case RunColumnKind::kRate:
            return countText(value);
        case RunColumnKind::kTime:
            return timeText(static_cast<std::int64_t>(value), nowMs);
        case RunColumnKind::kDuration:
            return durationText(value);
        default:
            return numberText(value);
    }
}

}  // namespace millrace::gui
