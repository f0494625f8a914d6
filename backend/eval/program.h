#pragma once
// A compiled expression: a graph of typed nodes, each with its kernel.
//
// Compiled once from a typed tree: folds constants, merges equal sub-trees, and finds the nodes
// with a lane kernel. Private to eval.
// Threads: immutable; run() from any thread. Failure: kInvalidArgument, without a position.
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/eval/evaluator.h"
#include "backend/eval/lanes/lane_kernels.h"

namespace millrace::eval {

struct ProgramNode {
    enum class Kind : std::uint8_t {
        kConstant,
        kColumn,
        kLane,   ///< `kernel`; Arrow repeats a call that fails
        kArrow,  ///< evaluateByArrow()
        kIsNull,
        kLogic,  ///< and, or; from here on: evaluates children only for the rows that need them
        kCase,
        kCoalesce,
    };
    const expr::ExprNode* expr = nullptr;
    Kind kind = Kind::kArrow;
    Lane lane = Lane::kOther;
    std::vector<int> children;
    LaneKernel kernel;
    std::shared_ptr<const void> prepared;  ///< result of LaneKernel::prepare
    Values constant;
    /// Name of the only column that an operation reads, if that is a text column; else null.
    const std::string* text = nullptr;
    int uses = 0;  ///< number of users: other nodes, and the result for the root
    int cost = 0;  ///< approximate ns per row, including all children
};

class Program {
 public:
    static Result<std::shared_ptr<const Program>> compile(const expr::Expr& expr);

    /// Returns one value per row. `failedRow`: as in evaluate(). An error is that of the first
    /// failing row, regardless of the number of rows.
    Result<ArrayPtr> run(ExprInput& input, std::int64_t* failedRow, Isa isa) const;
    /// Like run(), for the part below node `id`.
    Result<ArrayPtr> runNode(int id, ExprInput& input, Isa isa) const;

    const ProgramNode& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
    int root() const { return static_cast<int>(nodes_.size()) - 1; }

 private:
    explicit Program(expr::Expr expr) : expr_(std::move(expr)) {}
    Result<int> add(const expr::ExprNode& expr);
    int findEqual(const expr::ExprNode& expr, const std::vector<int>& children,
                  std::size_t hash) const;
    void classify(ProgramNode& node) const;
    const std::string* textOf(const ProgramNode& node) const;
    Status fold(int id);
    void count();

    const expr::Expr expr_;           ///< owns what nodes point to
    std::vector<ProgramNode> nodes_;  ///< children first, the root last
    std::unordered_multimap<std::size_t, int> byHash_;
};

}  // namespace millrace::eval
