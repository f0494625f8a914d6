#pragma once
// An expression made ready to be evaluated: a graph of typed nodes, each with its kernel.
//
// Made once of a typed tree: constants are folded, equal sub-trees are one node, and what a lane
// kernel can do is found. Private to the room.
// Threads: immutable; run() from any thread. Failure: kInvalidArgument without a place.
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/eval/evaluator.h"
#include "backend/eval/lane_kernels.h"

namespace millrace::eval {

struct ProgramNode {
    enum class Kind : std::uint8_t {
        kConstant,
        kColumn,
        kLane,   ///< `kernel`, and Arrow for what fails there
        kArrow,  ///< evaluateByArrow()
        kIsNull,
        kLogic,  ///< and, or; with what follows: children only where a row needs them
        kCase,
        kCoalesce,
    };
    const expr::ExprNode* expr = nullptr;
    Kind kind = Kind::kArrow;
    Lane lane = Lane::kOther;
    std::vector<int> children;
    LaneKernel kernel;
    std::shared_ptr<const void> prepared;  ///< LaneKernel::prepare's
    Values constant;
    /// Of an operation that reads one column alone, and that one of texts: its name. Null: of
    /// others, and of what reads no column.
    const std::string* text = nullptr;
    int uses = 0;  ///< by other nodes; the root's by the result
    int cost = 0;  ///< about ns a row, of all below it too
};

class Program {
 public:
    static Result<std::shared_ptr<const Program>> compile(const expr::Expr& expr);

    /// One value a row. `failedRow` as evaluate()'s; the sentence is that of the first row that
    /// fails, however many rows there are.
    Result<ArrayPtr> run(ExprInput& input, std::int64_t* failedRow, Isa isa) const;
    /// The same of a part of it: node `id`.
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

    const expr::Expr expr_;           ///< keeps what nodes point to
    std::vector<ProgramNode> nodes_;  ///< children first, the root last
    std::unordered_multimap<std::size_t, int> byHash_;
};

}  // namespace millrace::eval
