#pragma once
// One evaluation of a program over the rows of an input, some thousand rows at a time, so that
// intermediate values stay in the cache. Reuses the memory of values that are no longer needed.
// Private to eval.
//
// Threads: one. Failure: kInvalidArgument without a position, kResourceExhausted.
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backend/eval/program.h"
#include "backend/eval/value_memory.h"

namespace millrace::eval {

class ProgramRun {
 public:
    /// `root`: the node to evaluate.
    ProgramRun(const Program& program, ExprInput& input, Isa isa, int root);

    /// Returns every row's value. Evaluates parts that read one dictionary-coded text column once
    /// per text (dictionary_values.h).
    Result<ArrayPtr> all(std::int64_t* failedRow);
    /// Evaluates a node that reads no column; the result is not constant if it lacks a value.
    Result<Values> evaluateConstant(int id);

    /// Rows evaluated together: consecutive rows of the input, or some of another frame's.
    struct Frame {
        Frame* parent = nullptr;
        const std::int64_t* rows = nullptr;  ///< rows of the parent; null: all from `first` on
        ArrayPtr rowsArray;                  ///< the same, for Arrow
        std::int64_t first = 0, n = 0;
        struct Known {
            Values values;
            int usesLeft = 0;
        };
        std::unordered_map<int, Known> known;  ///< values that several nodes use
    };
    // For Branches.
    Result<Values> eval(Frame& frame, int id);
    /// New values to write to, in the node's lane.
    Result<Values> newValues(const Frame& frame, int id);
    const Program& program() const { return program_; }
    ValueMemory& memory() { return memory_; }
    Isa isa() const { return isa_; }

 private:
    void lookUpTexts(int id);
    bool isLeaf(int id) const;
    Result<std::optional<Values>> knownIn(Frame& frame, int id);
    Result<Values> compute(Frame& frame, int id);
    Result<Values> column(const Frame& frame, int id);
    Result<Values> kernel(Frame& frame, int id);
    Result<Values> byArrow(Frame& frame, const ProgramNode& node, const std::vector<Values>& args);
    Result<Values> isNull(Frame& frame, int id);

    Result<ArrayPtr> lanes(std::int64_t* failedRow);
    Status evalMorsel(std::int64_t first, std::int64_t n);
    Status store(const Values& values, std::int64_t first, std::int64_t n);
    Status firstFailure(const Status& whole, std::int64_t first, std::int64_t n,
                        std::int64_t* failedRow);

    const Program& program_;
    ExprInput& input_;
    const Isa isa_;
    const int root_;
    ValueMemory memory_;
    /// Values for all rows, by node: columns once they were read, and parts that were evaluated
    /// once per text.
    std::unordered_map<int, ArrayPtr> leaves_;
    std::shared_ptr<arrow::Buffer> out_, outValid_;  ///< the result's values and validity
    std::uint8_t* outAt_ = nullptr;  ///< where the root may write this morsel's values
};

}  // namespace millrace::eval
