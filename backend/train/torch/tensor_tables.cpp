#include "backend/train/torch/tensor_tables.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <ATen/ATen.h>

#include "backend/train/torch/updates.h"

namespace millrace::train {
TensorTables::TensorTables(const LearnerOptions& learner, const at::TensorOptions& options,
                           bool isOnHost)
    : options_(learner.tables), isOnHost_(isOnHost) {
    std::map<std::int64_t, std::size_t> groupOfDim;
    std::vector<std::int64_t> rows;
    for (const TableOptions& table : options_) {
        const auto [found, isNew] = groupOfDim.try_emplace(table.dim, groups_.size());
        if (isNew) {
            groups_.emplace_back().dim = table.dim;
            rows.push_back(0);
        }
        tables_.push_back({found->second, rows[found->second]});
        rows[found->second] += table.rows;
    }
    for (std::size_t f = 0; f < learner.features.size(); ++f) {
        const auto table = static_cast<std::size_t>(learner.features[f].table);
        groups_[tables_[table].group].features.push_back(
            {f, tables_[table].start, options_[table].rows});
    }
    const int moments = numMoments(learner.ofTables());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        group.sums = OrderedSums(rows[g], isOnHost);
        group.weight = at::zeros({rows[g], group.dim}, options);
        group.isUsed = at::zeros({rows[g]}, at::TensorOptions(options.device()).dtype(at::kBool));
        const std::int64_t width = momentWidth(learner.ofTables(), group.dim);
        group.first = moments > 0 ? at::zeros({rows[g], width}, options) : at::Tensor();
        group.second = moments > 1 ? at::zeros({rows[g], width}, options) : at::Tensor();
        std::vector<std::int64_t> limits;
        for (const BagFeature& feature : group.features) {
            limits.push_back(feature.start);
        }
        for (const BagFeature& feature : group.features) {
            limits.push_back(feature.numRows - 1);
        }
        group.limits = longsOn(options.device(), limits).view({2, -1});
    }
    orderColumns(learner.features.size(), options.device());
}

void TensorTables::orderColumns(std::size_t numFeatures, const at::Device& device) {
    std::vector<std::pair<std::int64_t, std::int64_t>> places(numFeatures);  // column, dim
    for (const Group& group : groups_) {
        for (const BagFeature& feature : group.features) {
            places[feature.index] = {width_, group.dim};
            width_ += group.dim;
        }
    }
    std::vector<std::int64_t> columns, back(static_cast<std::size_t>(width_));
    for (const auto& [first, dim] : places) {
        for (std::int64_t d = 0; d < dim; ++d) {
            back[static_cast<std::size_t>(first + d)] = static_cast<std::int64_t>(columns.size());
            columns.push_back(first + d);
        }
    }
    if (!std::is_sorted(columns.begin(), columns.end())) {
        order_ = longsOn(device, columns);
        back_ = longsOn(device, back);
    }
}

TensorTables::Places TensorTables::placesOf(const BatchView& batch, const BatchTensors& tensors,
                                            bool wantsGradients) {
    Places out;
    for (Group& tables : groups_) {
        const at::ScalarType type = tables.weight.scalar_type();
        Places::Group& places = out.groups.emplace_back();
        places.bags = isOnHost_ ? bagsOnHost(tables.features, batch, type)
                                : bagsOfTensors(tables.features, tables.limits, tensors, type);
        out.isWrong = out.isWrong || places.bags.isWrong;
        if (wantsGradients) {
            findTouched(tables, places);
        }
    }
    return out;
}

// Finds, for each touched row, the gradients that add up to its own: those of cells, or of bags if
// cells share them.
void TensorTables::findTouched(Group& tables, Places::Group& places) {
    const Bags& bags = places.bags;
    at::Tensor named = bags.rows, weights = bags.weights, ofId = bags.bagOfId;
    if (weights.defined()) {
        // Ids of a bag whose weights cancel out have no gradient.
        const at::Tensor kept =
            bags.scale.view({-1}).index_select(0, bags.bagOfId).nonzero().view({-1});
        named = named.index_select(0, kept);
        weights = weights.index_select(0, kept);
        ofId = ofId.index_select(0, kept);
    }
    places.scale = bags.scale;
    if (bags.isShared) {
        OrderedSums ofBags(bags.scale.size(0), tables.sums.isOnHost());
        places.byBag = ofBags.groupsOf(bags.cells);
    } else if (bags.cells.defined()) {
        // Each bag is one cell's.
        const at::Tensor cellOfBag = at::empty_like(bags.cells);
        OrderedSums::put(cellOfBag, bags.cells, at::arange(bags.cells.size(0), named.options()));
        ofId = cellOfBag.index_select(0, ofId);
        places.scale = bags.scale.index_select(0, bags.cells);
    }
    places.byRow = tables.sums.groupsOf(named);
    const at::Tensor& members = places.byRow.members;
    places.places = ofId.defined() ? ofId.index_select(0, members) : members;
    places.weights = weights.defined() ? weights.index_select(0, members) : weights;
}

void TensorTables::lend(const Places& places, const CopyLane& lane) {
    for (const Places::Group& group : places.groups) {
        const Bags& bags = group.bags;
        for (const at::Tensor& tensor :
             {bags.rows, bags.starts, bags.weights, bags.scale, bags.cells, group.byRow.rows,
              group.byRow.starts, group.byBag.rows, group.byBag.starts, group.byBag.members,
              group.places, group.weights, group.scale}) {
            lane.lend(tensor);
        }
    }
}

at::Tensor TensorTables::pool(const Places& places, std::int64_t rows) const {
    std::vector<at::Tensor> parts;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Bags& bags = places.groups[g].bags;
        const at::Tensor& weight = groups_[g].weight;
        at::Tensor pooled = bags.starts.defined()
                                ? OrderedSums::bagSums(weight, bags.rows, bags.starts, bags.weights)
                                      .mul_(bags.scale)
                                : weight.index_select(0, bags.rows);
        if (bags.cells.defined()) {
            pooled = pooled.index_select(0, bags.cells);
        }
        parts.push_back(pooled.view({rows, groups_[g].width()}));
    }
    if (parts.empty()) {
        return at::Tensor();
    }
    const at::Tensor all = parts.size() == 1 ? parts[0] : at::cat(parts, 1);
    return order_.defined() ? all.index_select(1, order_) : all;
}

void TensorTables::sumGradients(const Places& places, const at::Tensor& gradients) {
    const at::Tensor all = back_.defined() ? gradients.index_select(1, back_) : gradients;
    std::int64_t column = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Group& tables = groups_[g];
        const Places::Group& group = places.groups[g];
        at::Tensor own = groups_.size() == 1 ? all : all.narrow(1, column, tables.width());
        column += tables.width();
        if (group.byBag.rows.defined()) {
            const at::Tensor sums =
                OrderedSums::bagSums(own.reshape({-1, tables.dim}), group.byBag.members,
                                     group.byBag.starts, at::Tensor());
            own = at::zeros({group.bags.scale.size(0), tables.dim}, own.options());
            OrderedSums::put(own, group.byBag.rows, sums);
        }
        if (group.scale.defined()) {
            const std::int64_t bags = own.size(1) / tables.dim;
            own = own.view({-1, bags, tables.dim}) * group.scale.view({-1, bags, 1});
        }
        own = own.reshape({-1, tables.dim});
        tables.step.push_back(
            {group.byRow.rows,
             OrderedSums::bagSums(own, group.places, group.byRow.starts, group.weights)});
    }
}

void TensorTables::join(Group& tables) {
    if (tables.step.size() < 2) {
        return;
    }
    std::vector<at::Tensor> touched, sums;
    for (const Gradients& one : tables.step) {
        touched.push_back(one.touched);
        sums.push_back(one.sums);
    }
    const OrderedSums::Groups byRow = tables.sums.groupsOf(at::cat(touched));
    tables.step = {{byRow.rows, OrderedSums::bagSums(at::cat(sums), byRow.members, byRow.starts,
                                                     at::Tensor())}};
}

// Format, by group: the number of touched rows, the rows, their sums.
std::string TensorTables::packed() const {
    std::string out;
    const auto append = [&out](const at::Tensor& values) {
        const at::Tensor here = values.cpu().contiguous();
        out.append(static_cast<const char*>(here.const_data_ptr()), here.nbytes());
    };
    for (const Group& tables : groups_) {
        const std::int64_t count = tables.step.empty() ? 0 : tables.step[0].touched.size(0);
        out.append(reinterpret_cast<const char*>(&count), sizeof count);
        if (count > 0) {
            append(tables.step[0].touched);
            append(tables.step[0].sums);
        }
    }
    return out;
}

// Adds the gradients as another part of the step.
Status TensorTables::unpack(std::string_view from) {
    for (Group& tables : groups_) {
        std::int64_t count = -1;
        if (from.size() >= sizeof count) {
            std::memcpy(&count, from.data(), sizeof count);
            from.remove_prefix(sizeof count);
        }
        const std::size_t bytesOfRow =
            sizeof count + static_cast<std::size_t>(tables.dim) * tables.weight.element_size();
        if (count < 0 || static_cast<std::size_t>(count) > from.size() / bytesOfRow) {
            return internalError("ranks: gradients of tables are not whole");
        }
        const auto take = [&](at::IntArrayRef shape, at::ScalarType type) {
            at::Tensor here = at::empty(shape, type);
            std::memcpy(here.data_ptr(), from.data(), here.nbytes());
            from.remove_prefix(here.nbytes());
            return here;
        };
        const at::Tensor touched = take({count}, at::kLong);
        const at::Tensor sums = take({count, tables.dim}, tables.weight.scalar_type());
        if (count > 0 && (touched.min().item<std::int64_t>() < 0 ||
                          touched.max().item<std::int64_t>() >= tables.rows())) {
            return internalError("ranks: gradients name a row that no table has");
        }
        tables.step.push_back(
            {touched.to(tables.weight.device()), sums.to(tables.weight.device())});
    }
    return from.empty() ? okStatus() : internalError("ranks: gradients of more tables");
}

// Rank 0 adds up the other ranks' gradients in rank order, and all ranks take its sums.
Status TensorTables::sumOverRanks(millrace::train::Group& group) {
    std::for_each(groups_.begin(), groups_.end(), join);
    if (group.size() == 1) {
        return okStatus();
    }
    const bool isFirst = group.rank() == 0;
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     group.collect(isFirst ? std::string() : packed()));
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        RETURN_IF_ERROR(unpack(all[rank]));
    }
    std::for_each(groups_.begin(), groups_.end(), join);
    ASSIGN_OR_RETURN(const std::string sums, group.ofFirst(isFirst ? packed() : std::string()));
    if (isFirst) {
        return okStatus();
    }
    clear();
    return unpack(sums);
}

at::Tensor TensorTables::squaredGradients() const {
    at::Tensor squares = at::zeros({}, at::kDouble);
    for (const Group& tables : groups_) {
        for (const Gradients& all : tables.step) {
            squares = squares + normOf(all.sums).square();
        }
    }
    return squares;
}

void TensorTables::divide(const at::Tensor& divisor) {
    for (const Group& tables : groups_) {
        for (const Gradients& all : tables.step) {
            all.sums.div_(divisor);
        }
    }
}

void TensorTables::apply(const OptimizerOptions& optimizer, std::int64_t updates, double divisor) {
    for (const Group& tables : groups_) {
        for (const Gradients& all : tables.step) {
            tables.isUsed.index_fill_(0, all.touched, true);
            updateWeights(optimizer, updates, divisor, all.sums,
                          {tables.weight, tables.first, tables.second}, all.touched, isOnHost_);
        }
    }
    clear();
}

void TensorTables::clear() {
    for (Group& group : groups_) {
        group.step.clear();
    }
}

std::int64_t TensorTables::numTouched() const {
    std::int64_t rows = 0;
    for (const Group& group : groups_) {
        for (const Gradients& all : group.step) {
            rows += all.touched.size(0);
        }
    }
    return rows;
}

std::vector<TableUse> TensorTables::use() const {
    std::vector<TableUse> out;
    for (std::size_t t = 0; t < options_.size(); ++t) {
        const at::Tensor isUsed =
            groups_[tables_[t].group].isUsed.narrow(0, tables_[t].start, options_[t].rows);
        out.push_back({options_[t].name, isUsed.sum().item<std::int64_t>(), options_[t].rows});
    }
    return out;
}

std::vector<TensorTables::Table> TensorTables::tables() const {
    std::vector<Table> out;
    for (std::size_t t = 0; t < options_.size(); ++t) {
        const Group& group = groups_[tables_[t].group];
        const auto part = [&](const at::Tensor& of) {
            return of.defined() ? of.narrow(0, tables_[t].start, options_[t].rows) : at::Tensor();
        };
        out.push_back(
            {options_[t].name, part(group.weight), part(group.first), part(group.second)});
    }
    return out;
}

}  // namespace millrace::train
