#pragma once
// The label of a first spec: a column, or an expression over columns that `--label` gives.
//
// Used by first_spec.cpp. Private to profile. Threads: pure. Borrows the profile.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/profile/first_spec.h"

namespace millrace::profile {

class FirstLabel {
 public:
    FirstLabel() = default;
    /// kInvalidArgument if nothing can be predicted: the message says what could be.
    static Result<FirstLabel> choose(const DatasetProfile& profile,
                                     const FirstSpecOptions& options);

    /// The column or the expression, as --label takes it.
    const std::string& text() const { return text_; }
    /// Whether the label is computed from the column, which is then not a feature.
    bool reads(const ColumnProfile& column) const;
    /// Why the columns that it reads are not features.
    const std::string& why() const { return why_; }
    /// Its name below `labels`.
    std::string head() const;
    /// The condition for a positive label.
    const std::string& expression() const { return expression_; }
    /// The condition for a label that is a value, beyond not null; "": all are.
    const std::string& known() const { return known_; }
    /// The condition for rows that have a label; "": all have one.
    std::string labelled() const;
    double labelledShare() const;
    /// Says in the spec what is positive; "" where the expression says it.
    const std::string& comment() const { return comment_; }
    /// Notes for the user.
    const std::vector<std::string>& notes() const { return notes_; }

 private:
    Status takeColumn(const DatasetProfile& profile, const FirstSpecOptions& options);
    Status takeExpression(const DatasetProfile& profile);
    Status check() const;
    void explainChoice(const DatasetProfile& profile, const FirstSpecOptions& options);
    void explainClasses();

    const ColumnProfile& column() const { return *columns_.front(); }
    /// The one column of a label without an expression of the user.
    bool isColumn_ = true;
    std::vector<const ColumnProfile*> columns_;
    std::string text_, why_, expression_, known_, comment_;
    std::vector<std::string> notes_;
};

}  // namespace millrace::profile
