#include "backend/profile/first_label.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <variant>

#include "backend/expr/expression.h"
#include "backend/profile/spec_split.h"
#include "backend/text/text.h"

namespace millrace::profile {
namespace {

constexpr std::size_t kNameMost = 40;  // bytes of a head's name that comes from an expression

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", 100 * share);
    return text;
}

// All digits: a border of the label must be exact.
std::string exactly(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", value);
    return text;
}

std::string sqlText(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? std::string("''") : std::string(1, c);
    }
    return quoted + "'";
}

// --label "EXPRESSION", as it is typed in a shell.
std::string labelOption(const std::string& expression) {
    std::string quoted;
    for (const char c : expression) {
        quoted += std::string_view("\"\\$`").find(c) == std::string_view::npos
                      ? std::string(1, c)
                      : std::string("\\") + c;
    }
    return strCat("--label \"", quoted, "\"");
}

// The option that makes a yes/no label of a column with 3 or more texts: its most frequent text is
// positive. "" for other columns.
std::string yesNoOption(const ColumnProfile& column) {
    const auto& texts = column.texts();
    const bool isWhole = column.distinct() == static_cast<double>(texts.size());
    if (!column.type().isString() || texts.size() < 3 || !isWhole) {
        return "";
    }
    const auto most =
        std::ranges::max_element(texts, {}, [](const auto& text) { return text.second; });
    return labelOption(strCat(expr::sqlName(column.name()), " = ", sqlText(most->first)));
}

// " (its texts are 'a', 'b', 'c')", of a label with few texts.
std::string textsSeen(const ColumnProfile& column) {
    std::string seen;
    for (const auto& [text, count] : column.texts()) {
        strAppend(&seen, seen.empty() ? " (its texts are '" : ", '", text, "'");
    }
    return seen.empty() ? "" : seen + ")";
}

// "; columns of two classes: a, b", among which the user has to choose.
std::string candidates(const DatasetProfile& profile, const std::string& chosen) {
    std::string names;
    for (const ColumnProfile& column : profile.columns) {
        if (hasTwoClasses(column) && column.name() != chosen) {
            strAppend(&names, names.empty() ? "" : ", ", column.name());
        }
    }
    return names.empty() ? "" : strCat("; columns of two classes: ", names);
}

// "; --label "size = 'L'" makes ...", of the first columns with few texts.
std::string yesNoColumns(const DatasetProfile& profile) {
    constexpr int kMostNamed = 3;
    std::string named;
    int count = 0;
    for (const ColumnProfile& column : profile.columns) {
        const std::string option = yesNoOption(column);
        if (!option.empty() && count++ < kMostNamed) {
            strAppend(&named, named.empty() ? "; a condition on a text can be one: " : " or ",
                      option);
        }
    }
    return named;
}

// The condition for a label that is a value. NaN is greater than every number and would be
// positive; a text such as NA would be negative.
std::string knownOf(const ColumnProfile& column) {
    const std::string name = expr::sqlName(column.name());
    if (column.nans() > 0) {
        return strCat("not isnan(", name, ")");
    }
    std::string words;
    for (const std::string& word : missingTexts(column)) {
        strAppend(&words, words.empty() ? "" : ", ", sqlText(word));
    }
    return words.empty() ? "" : strCat(name, " not in (", words, ")");
}

std::string positiveOf(const ColumnProfile& column) {
    const std::string name = expr::sqlName(column.name());
    if (column.type().isBool()) {
        return name;
    }
    if (const std::string text = positiveText(column); !text.empty()) {
        return strCat(name, " = ", sqlText(text));
    }
    if (column.isZeroOne()) {
        return strCat(name, " = 1");
    }
    // The upper half; where most rows have the least value, all others.
    const double median = column.quantile(0.5);
    return median > column.min() ? strCat(name, " >= ", exactly(median))
                                 : strCat(name, " > ", exactly(median));
}

// A text that is more than the name of a column: it parses as such, or has an operator.
bool isExpression(const std::string& text) {
    const auto parsed = expr::tryParseExpression(text);
    const auto* const tree = std::get_if<expr::Expr>(&parsed);
    return tree != nullptr ? (*tree)->op != expr::ExprOp::kColumn
                           : text.find_first_of("=<>(") != std::string::npos;
}

}  // namespace

Result<FirstLabel> FirstLabel::choose(const DatasetProfile& profile,
                                      const FirstSpecOptions& options) {
    if (profile.rowsRead == 0) {
        return invalidArgument(options.paths.front(), ": the dataset has no rows");
    }
    FirstLabel label;
    const bool isColumn = std::ranges::any_of(profile.columns, [&](const ColumnProfile& column) {
        return column.name() == options.label;
    });
    label.isColumn_ = options.label.empty() || isColumn || !isExpression(options.label);
    if (!label.isColumn_) {
        label.text_ = label.expression_ = options.label;
        RETURN_IF_ERROR(label.takeExpression(profile));
        return label;
    }
    RETURN_IF_ERROR(label.takeColumn(profile, options));
    RETURN_IF_ERROR(label.check());
    label.text_ = label.column().name();
    label.expression_ = positiveOf(label.column());
    label.known_ = knownOf(label.column());
    label.explainChoice(profile, options);
    label.explainClasses();
    return label;
}

Status FirstLabel::takeExpression(const DatasetProfile& profile) {
    expr::Schema schema;
    for (const ColumnProfile& column : profile.columns) {
        schema.fields.push_back({column.name(), column.type()});
    }
    const Result<expr::Expr> tree = expr::compilePredicate(expression_, schema, "the condition");
    RETURN_IF_ERROR(annotate(tree.status(), "--label"));
    for (const std::string& name : expr::collectColumns(*tree)) {
        const auto column = std::ranges::find(profile.columns, name, &ColumnProfile::name);
        columns_.push_back(&*column);
        if (column->nans() > 0) {
            strAppend(&known_, known_.empty() ? "" : " and ", knownOf(*column));
        }
    }
    if (columns_.empty()) {
        return invalidArgument("--label: '", expression_, "' reads no column");
    }
    why_ = "the label is computed from it";
    return okStatus();
}

Status FirstLabel::takeColumn(const DatasetProfile& profile, const FirstSpecOptions& options) {
    int best = 0;
    std::vector<std::string> names;
    const auto quoted = expr::tryParseExpression(options.label);  // in quotes, as conditions need
    const auto* tree = std::get_if<expr::Expr>(&quoted);
    const bool isQuoted = tree != nullptr && (*tree)->op == expr::ExprOp::kColumn;
    const std::string wanted = isQuoted ? (*tree)->name : options.label;
    for (const ColumnProfile& column : profile.columns) {
        const bool isWanted = column.name() == wanted || column.name() == options.label;
        const int score = options.label.empty() ? labelScore(column) : (isWanted ? 1000 : 0);
        if (score > 0 && score >= best) {
            best = score;
            columns_ = {&column};
        }
        names.push_back(column.name());
    }
    if (!columns_.empty()) {
        return okStatus();
    }
    return options.label.empty()
               ? invalidArgument(options.paths.front(),
                                 ": no column looks like a label; --label COLUMN says what is to "
                                 "be predicted",
                                 candidates(profile, ""), yesNoColumns(profile))
               : invalidArgument("--label: the dataset has no column '", options.label, "'",
                                 nameHint(options.label, names));
}

Status FirstLabel::check() const {
    const std::string& name = column().name();
    if (column().type().isTemporal()) {
        return invalidArgument("--label: column '", name,
                               "' is a time; a model predicts a class or a number");
    }
    if (!column().hasNumbers() && positiveText(column()).empty()) {
        const std::string option = yesNoOption(column());
        return invalidArgument(
            "--label: column '", name, "' of type ", column().type().name(),
            " has neither numbers nor two texts to predict", textsSeen(column()), "; ",
            option.empty() ? "take another one, or a condition as the label: --label "
                             "EXPRESSION"
                           : strCat(option, " predicts whether it is this text"));
    }
    if (!column().hasNumbers() || column().isZeroOne() || column().min() != column().max()) {
        return okStatus();
    }
    const std::int64_t nulls = column().nulls();
    return nulls == 0
               ? invalidArgument("--label: column '", name, "' is ", shortNumber(column().min()),
                                 " in every row that was read")
               : invalidArgument("--label: column '", name, "' is ", shortNumber(column().min()),
                                 " or null (in ", formatCount(nulls), " of ",
                                 formatCount(column().rows()), " rows that were read); ",
                                 labelOption(strCat(expr::sqlName(name), " is not null")),
                                 " predicts whether it has a value");
}

void FirstLabel::explainChoice(const DatasetProfile& profile, const FirstSpecOptions& options) {
    if (!options.label.empty()) {
        why_ = "--label names it";
        return;
    }
    if (labelScore(column()) >= kNamedLabel) {
        why_ = "named like what is to be predicted";
        return;
    }
    const std::string others = candidates(profile, text_);
    why_ = others.empty() ? "the only column of two classes" : "the last column of 0 and 1";
    if (!others.empty()) {
        notes_.push_back(strCat("label: '", text_,
                                "' is the last column of 0 and 1; --label names another", others));
    }
}

void FirstLabel::explainClasses() {
    if (column().isZeroOne()) {
        comment_ = strCat(percent(column().onesShare()), " % of the rows are positive.");
        return;
    }
    const std::string text = positiveText(column());
    if (text.empty()) {
        comment_ = strCat("'", text_, "' goes from ", shortNumber(column().min()), " to ",
                          shortNumber(column().max()), "; positive is ", expression_,
                          ". Change it to what you mean.");
        notes_.push_back(
            strCat("label: positive is ", expression_, "; change it to what you mean"));
        return;
    }
    std::int64_t labelled = column().rows() - column().nulls();
    for (const std::string& word : missingTexts(column())) {
        labelled -= column().texts().at(word);
        notes_.push_back(strCat("label: the rows whose '", text_, "' is '", word, "' (",
                                formatCount(column().texts().at(word)),
                                ") are neither trained on nor evaluated"));
    }
    const double share =
        static_cast<double>(column().texts().at(text)) / static_cast<double>(labelled);
    comment_ = strCat("'", text_, "' has two texts; '", text, "' is positive, ", percent(share),
                      " % of the rows.");
    notes_.push_back(strCat("label: positive is ", expression_,
                            ", one of two texts; change it to what you mean"));
}

bool FirstLabel::reads(const ColumnProfile& column) const {
    return std::ranges::find(columns_, &column) != columns_.end();
}

std::string FirstLabel::head() const {
    std::string name;
    for (const char c : text_) {
        const bool isPlain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        const bool isRun = !isColumn_ && (name.empty() || name.back() == '_');
        if (isPlain || !isRun) {
            name += isPlain ? c : '_';
        }
    }
    if (!isColumn_) {
        name = name.substr(0, kNameMost);
        name = name.substr(0, name.find_last_not_of('_') + 1);
    }
    return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "label"
                                                                                       : name;
}

std::string FirstLabel::labelled() const {
    const bool hasNone = std::ranges::any_of(
        columns_, [](const ColumnProfile* column) { return column->nulls() > 0; });
    const bool hasNan = isColumn_ && column().nans() > 0;
    const std::string value = isColumn_ ? expr::sqlName(text_) : strCat("(", expression_, ")");
    std::string condition = hasNone || hasNan ? strCat(value, " is not null") : std::string();
    strAppend(&condition, condition.empty() || known_.empty() ? "" : " and ", known_);
    return condition;
}

double FirstLabel::labelledShare() const {
    double share = 1;
    for (const ColumnProfile* column : columns_) {
        const double values = static_cast<double>(column->rows() - column->nulls());
        share = column->rows() > 0 ? std::min(share, values / static_cast<double>(column->rows()))
                                   : share;
    }
    return share;
}

}  // namespace millrace::profile
