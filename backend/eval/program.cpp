#include "backend/eval/program.h"

#include <algorithm>
#include <functional>

#include "backend/eval/arrow_operations.h"
#include "backend/eval/program_run.h"

namespace millrace::eval {
namespace {

using expr::ExprNode;
using expr::ExprOp;
using Kind = ProgramNode::Kind;

constexpr int kArrowCost = 50;

std::size_t mixed(std::size_t a, std::size_t b) {
    return (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2)));
}

std::size_t hashOf(const ExprNode& expr, const std::vector<int>& children) {
    std::size_t hash =
        mixed(static_cast<std::size_t>(expr.op), std::hash<std::string>()(expr.name));
    hash = mixed(hash, static_cast<std::size_t>(expr.type.kind));
    hash = mixed(hash, std::hash<expr::Literal>()(expr.literal));
    for (const int child : children) {
        hash = mixed(hash, static_cast<std::size_t>(child));
    }
    return hash;
}

/// Equal, including the bits of NaN and the sign of 0, which make constants different.
bool isSameLiteral(const expr::Literal& a, const expr::Literal& b) {
    const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
    return a == b && (x == nullptr || y == nullptr || std::signbit(*x) == std::signbit(*y));
}

/// Input for expressions without columns.
class NoColumns final : public ExprInput {
 public:
    std::int64_t rows() const override { return 1; }
    Result<ArrayPtr> column(const std::string& name) override {
        return internalError("no column ", name);
    }
};

}  // namespace

Result<std::shared_ptr<const Program>> Program::compile(const expr::Expr& expr) {
    const std::shared_ptr<Program> program(new Program(expr));
    RETURN_IF_ERROR(program->add(*program->expr_).status());
    program->count();
    program->byHash_.clear();
    return std::shared_ptr<const Program>(program);
}

int Program::findEqual(const ExprNode& expr, const std::vector<int>& children,
                       std::size_t hash) const {
    const auto [begin, end] = byHash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        const ProgramNode& other = node(it->second);
        const ExprNode& known = *other.expr;
        if (known.op == expr.op && known.type.isSame(expr.type) && known.name == expr.name &&
            known.function == expr.function && known.zone == expr.zone &&
            isSameLiteral(known.literal, expr.literal) && other.children == children) {
            return it->second;
        }
    }
    return -1;
}

Result<int> Program::add(const ExprNode& expr) {
    std::vector<int> children;
    children.reserve(expr.children.size());
    for (const expr::Expr& child : expr.children) {
        ASSIGN_OR_RETURN(const int id, add(*child));
        children.push_back(id);
    }
    const std::size_t hash = hashOf(expr, children);
    const int known = findEqual(expr, children, hash);
    if (known >= 0) {
        return known;
    }
    ProgramNode made;
    made.expr = &expr;
    made.lane = laneOf(expr.type);
    made.children = std::move(children);
    classify(made);
    made.text = textOf(made);
    nodes_.push_back(std::move(made));
    const int id = static_cast<int>(nodes_.size()) - 1;
    byHash_.emplace(hash, id);
    RETURN_IF_ERROR(fold(id));
    return id;
}

void Program::classify(ProgramNode& made) const {
    for (const int child : made.children) {
        made.cost += node(child).cost;
    }
    switch (made.expr->op) {
        case ExprOp::kLiteral:
            made.kind = Kind::kConstant;
            return;
        case ExprOp::kColumn:
            made.kind = Kind::kColumn;
            return;
        case ExprOp::kIsNull:
        case ExprOp::kIsNotNull:
            made.kind = Kind::kIsNull;
            return;
        case ExprOp::kAnd:
        case ExprOp::kOr:
            made.kind = Kind::kLogic;
            made.cost += 1;
            return;
        case ExprOp::kCase:
            made.kind = Kind::kCase;
            made.cost += static_cast<int>(made.children.size());
            return;
        default:
            break;
    }
    if (made.expr->op == ExprOp::kCall && made.expr->function->id == expr::FunctionId::kCoalesce) {
        made.kind = Kind::kCoalesce;
        made.cost += 1;
        return;
    }
    made.kernel = findLaneKernel(*made.expr);
    made.kind = made.kernel.run != nullptr ? Kind::kLane : Kind::kArrow;
    made.cost += made.kind == Kind::kLane ? made.kernel.cost : kArrowCost;
    if (made.kernel.prepare != nullptr) {
        std::vector<Values> args;
        for (const int child : made.children) {
            args.push_back(node(child).constant);
        }
        made.prepared = made.kernel.prepare(args);
    }
}

const std::string* Program::textOf(const ProgramNode& made) const {
    const std::string* text = nullptr;
    for (const int child : made.children) {
        const ProgramNode& below = node(child);
        if (below.kind == Kind::kConstant) {
            continue;
        }
        const expr::DataType& type = below.expr->type;
        const bool isText = below.kind == Kind::kColumn && type.isString() && !type.isList;
        const std::string* const name = isText ? &below.expr->name : below.text;
        if (name == nullptr || (text != nullptr && *text != *name)) {
            return nullptr;
        }
        text = name;
    }
    return text;
}

/// Evaluates what depends on no row. A node that fails stays, as its branch may never be taken.
Status Program::fold(int id) {
    ProgramNode& made = nodes_[static_cast<std::size_t>(id)];
    if (made.kind == Kind::kConstant) {
        ASSIGN_OR_RETURN(const Datum scalar, literalScalar(*made.expr));
        ASSIGN_OR_RETURN(made.constant, constantOf(made.lane, scalar));
        return okStatus();
    }
    const bool isConstant =
        !made.children.empty() && std::ranges::all_of(made.children, [this](int child) {
            return node(child).kind == Kind::kConstant;
        });
    if (!isConstant) {
        return okStatus();
    }
    NoColumns none;
    ProgramRun run(*this, none, Isa::kPlain, id);
    Result<Values> value = run.evaluateConstant(id);
    if (value.ok() && value->isConstant) {
        made.constant = *std::move(value);
        made.kind = Kind::kConstant;
        made.children.clear();
        made.cost = 0;
    }
    return okStatus();
}

void Program::count() {
    std::vector<int> open = {root()};
    std::vector<bool> isSeen(nodes_.size());
    nodes_.back().uses = 1;
    while (!open.empty()) {
        const int id = open.back();
        open.pop_back();
        if (isSeen[static_cast<std::size_t>(id)]) {
            continue;
        }
        isSeen[static_cast<std::size_t>(id)] = true;
        for (const int child : node(id).children) {
            ++nodes_[static_cast<std::size_t>(child)].uses;
            open.push_back(child);
        }
    }
}

Result<ArrayPtr> Program::run(ExprInput& input, std::int64_t* failedRow, Isa isa) const {
    ProgramRun run(*this, input, isa, root());
    return run.all(failedRow);
}

Result<ArrayPtr> Program::runNode(int id, ExprInput& input, Isa isa) const {
    ProgramRun run(*this, input, isa, id);
    return run.all(nullptr);
}

}  // namespace millrace::eval
