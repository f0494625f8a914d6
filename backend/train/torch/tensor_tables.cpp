#include "backend/train/torch/tensor_tables.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>

#include "backend/train/torch/settings.h"
#include "backend/train/torch/updates.h"

namespace millrace::train {
namespace {

// Sum of the weights below which a weighted list counts as empty.
constexpr double kWeightMin = 1e-12;

at::Tensor bagSums(const at::Tensor& weight, const at::Tensor& rows, const at::Tensor& starts,
                   const at::Tensor& shares) {
    constexpr std::int64_t kSum = 0;
    return std::get<0>(at::embedding_bag(
        weight, rows, starts, false, kSum, false,
        shares.defined() ? std::optional<at::Tensor>(shares) : std::nullopt, true));
}

at::Tensor endedBy(const at::Tensor& counts) {
    return at::cat({at::zeros({1}, counts.options()), counts.cumsum(0)});
}

bool isPlain(const IdTensors& ids) {
    return !ids.offsets.defined() && !ids.inverse.defined();
}

/// Joins tensors. Adjacent ones, like the columns of a frame, need no copy.
at::Tensor joined(const std::vector<at::Tensor>& parts) {
    std::int64_t end = parts[0].storage_offset(), total = 0;
    for (const at::Tensor& part : parts) {
        if (part.storage().data() != parts[0].storage().data() || part.storage_offset() != end) {
            return at::cat(parts);
        }
        end += part.numel();
        total += part.numel();
    }
    return parts[0].as_strided({total}, {1}, parts[0].storage_offset());
}

at::Tensor column(const std::vector<at::Scalar>& values, const at::Device& device) {
    std::vector<std::int64_t> out;
    for (const at::Scalar& value : values) {
        out.push_back(value.toLong());
    }
    return at::tensor(out, at::kLong).to(device).unsqueeze(1);
}

at::Tensor withEnd(const std::vector<at::Tensor>& starts, std::int64_t end) {
    std::vector<at::Tensor> all = starts;
    all.push_back(at::full({1}, end, starts[0].options()));
    return at::cat(all);
}

/// 1 / length for each value of a list; weighted: weight / sum of the list's weights.
at::Tensor sharesOf(const IdTensors& ids, const at::Tensor& lengths, std::int64_t count,
                    at::ScalarType type) {
    if (!ids.weights.defined()) {
        return lengths.to(type).reciprocal().repeat_interleave(lengths, 0, count);
    }
    const at::Tensor one = at::zeros({count}, ids.values.options());
    const at::Tensor weights = ids.weights.to(type);
    const at::Tensor totals =
        bagSums(weights.view({-1, 1}), at::arange(count, one.options()), ids.offsets, at::Tensor())
            .view({-1});
    const at::Tensor scale = at::where(totals.abs() < kWeightMin, 0.0, totals.reciprocal());
    return weights * scale.repeat_interleave(lengths, 0, count);
}

}  // namespace

TensorTables::TensorTables(const LearnerOptions& learner, const at::TensorOptions& options)
    : options_(learner.tables) {
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
        Group& group = groups_[tables_[table].group];
        group.features.push_back(f);
        group.starts.emplace_back(tables_[table].start);
        group.lasts.emplace_back(options_[table].rows - 1);
        offsets_.push_back(width_);
        dims_.push_back(group.dim);
        width_ += group.dim;
    }
    const int moments = numMoments(learner.ofTables());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        group.weight = at::zeros({rows[g], group.dim}, options);
        group.allStarts = column(group.starts, options.device());
        group.allLasts = column(group.lasts, options.device());
        group.isUsed = at::zeros({rows[g]}, at::TensorOptions(options.device()).dtype(at::kBool));
        const std::int64_t width = momentWidth(learner.ofTables(), group.dim);
        group.first = moments > 0 ? at::zeros({rows[g], width}, options) : at::Tensor();
        group.second = moments > 1 ? at::zeros({rows[g], width}, options) : at::Tensor();
    }
}

TensorTables::Places TensorTables::placesOf(const BatchTensors& batch, bool wantsGradients) const {
    Places out;
    out.rows = batch.rows;
    for (const IdTensors& ids : batch.ids) {
        out.inverses.push_back(ids.inverse);
    }
    out.isWrong = at::zeros({}, batch.dense.options().dtype(at::kBool));
    for (const Group& group : groups_) {
        out.groups.push_back(placesOf(group, batch, wantsGradients, out.isWrong));
    }
    return out;
}

TensorTables::Places::Group TensorTables::placesOf(const Group& group, const BatchTensors& batch,
                                                   bool wantsGradients, at::Tensor& isWrong) const {
    const bool areIds = std::all_of(group.features.begin(), group.features.end(),
                                    [&](std::size_t f) { return isPlain(batch.ids[f]); });
    if (areIds) {
        Places::Group out = placesOfIds(group, batch, isWrong);
        if (wantsGradients) {
            findTouched(out, at::Tensor());
        }
        return out;
    }
    Places::Group out;
    std::vector<at::Tensor> values, starts, shares, lengths;
    bool hasShares = false;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < group.features.size(); ++i) {
        const IdTensors& ids = batch.ids[group.features[i]];
        values.push_back(ids.values);
        const std::int64_t own = ids.values.size(0);
        const at::Tensor first = ids.offsets.defined()
                                     ? ids.offsets.narrow(0, 0, ids.items)
                                     : at::arange(ids.items, ids.values.options());
        starts.push_back(first + count);
        lengths.push_back(ids.offsets.defined() ? ids.offsets.diff()
                                                : at::ones({ids.items}, ids.values.options()));
        shares.push_back(ids.offsets.defined()
                             ? sharesOf(ids, lengths.back(), own, group.weight.scalar_type())
                             : at::ones({own}, group.weight.options()));
        hasShares = hasShares || ids.offsets.defined();
        out.items.push_back(ids.items);
        count += own;
    }
    // Ids outside their table are detected for all features at once. Until the error is reported
    // they are clamped to an existing row.
    const std::vector<at::Tensor> inside =
        at::_foreach_clamp_min(at::_foreach_clamp_max(values, group.lasts), 0);
    isWrong.logical_or_((at::cat(inside) != at::cat(values)).any());
    out.rows = at::cat(at::_foreach_add(inside, group.starts));
    out.starts = withEnd(starts, count);
    out.shares = hasShares ? at::cat(shares) : at::Tensor();
    if (wantsGradients) {
        const at::Tensor all = at::cat(lengths);
        findTouched(out, at::arange(all.size(0), all.options()).repeat_interleave(all, 0, count));
    }
    return out;
}

// One id per row in every feature: no bags are needed, and a few calls serve all features.
TensorTables::Places::Group TensorTables::placesOfIds(const Group& group, const BatchTensors& batch,
                                                      at::Tensor& isWrong) {
    Places::Group out;
    std::vector<at::Tensor> values;
    for (const std::size_t f : group.features) {
        values.push_back(batch.ids[f].values);
        out.items.push_back(batch.rows);
    }
    const at::Tensor all = joined(values).view({-1, batch.rows});
    const at::Tensor inside = at::minimum(all.clamp_min(0), group.allLasts);
    isWrong.logical_or_((inside != all).any());
    out.rows = (inside + group.allStarts).view({-1});
    return out;
}

// Transposes the bags: for each touched row, the bags that contain it, in the batch's order.
void TensorTables::findTouched(Places::Group& places, const at::Tensor& bagOfValue) {
    const auto [sorted, from] = places.rows.sort(true, 0, false);
    const auto [touched, unused, counts] = at::unique_consecutive(sorted, false, true);
    places.touched = touched;
    places.touchedStarts = endedBy(counts);
    places.bags = bagOfValue.defined() ? bagOfValue.index_select(0, from) : from;
    places.bagShares = places.shares.defined() ? places.shares.index_select(0, from) : at::Tensor();
}

void TensorTables::lend(const Places& places, const CopyLane& lane) {
    for (const Places::Group& group : places.groups) {
        for (const at::Tensor& tensor : {group.rows, group.starts, group.shares, group.touched,
                                         group.touchedStarts, group.bags, group.bagShares}) {
            lane.lend(tensor);
        }
    }
    for (const at::Tensor& inverse : places.inverses) {
        lane.lend(inverse);
    }
}

at::Tensor TensorTables::pool(const Places& places) const {
    std::vector<at::Tensor> columns(offsets_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Places::Group& group = places.groups[g];
        const at::Tensor pooled =
            group.starts.defined()
                ? bagSums(groups_[g].weight, group.rows, group.starts, group.shares)
                : groups_[g].weight.index_select(0, group.rows);
        if (groups_.size() == 1 && !group.starts.defined()) {
            return pooled.view({-1, places.rows, groups_[g].dim})
                .transpose(0, 1)
                .reshape({places.rows, width_});
        }
        const std::vector<at::Tensor> parts = pooled.split_with_sizes(group.items);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::size_t f = groups_[g].features[i];
            columns[f] = places.inverses[f].defined() ? parts[i].index_select(0, places.inverses[f])
                                                      : parts[i];
        }
    }
    return columns.empty() ? at::Tensor() : at::cat(columns, 1);
}

void TensorTables::sumGradients(const Places& places, const at::Tensor& gradients) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Places::Group& group = places.groups[g];
        if (groups_.size() == 1 && !group.starts.defined()) {
            const at::Tensor own = gradients.view({places.rows, -1, groups_[g].dim})
                                       .transpose(0, 1)
                                       .reshape({-1, groups_[g].dim});
            groups_[g].step.push_back(
                {group.touched, bagSums(own, group.bags, group.touchedStarts, group.bagShares)});
            continue;
        }
        std::vector<at::Tensor> parts;
        for (std::size_t i = 0; i < group.items.size(); ++i) {
            const std::size_t f = groups_[g].features[i];
            at::Tensor own = gradients.narrow(1, offsets_[f], dims_[f]);
            if (places.inverses[f].defined()) {
                own = at::zeros({group.items[i], dims_[f]}, gradients.options())
                          .index_add_(0, places.inverses[f], own);
            }
            parts.push_back(own);
        }
        groups_[g].step.push_back({group.touched, bagSums(at::cat(parts), group.bags,
                                                          group.touchedStarts, group.bagShares)});
    }
}

// Adds rows that several parts touched in the order of the parts.
TensorTables::Gradients TensorTables::together(const std::vector<Gradients>& parts) {
    if (parts.size() == 1) {
        return parts[0];
    }
    std::vector<at::Tensor> touched, sums;
    for (const Gradients& one : parts) {
        touched.push_back(one.touched);
        sums.push_back(one.sums);
    }
    Places::Group places;
    places.rows = at::cat(touched);
    findTouched(places, at::Tensor());
    return {places.touched,
            bagSums(at::cat(sums), places.bags, places.touchedStarts, at::Tensor())};
}

Result<std::vector<TensorTables::Gradients>> TensorTables::ofAllRanks(
    const Group& tables, const Gradients& mine, millrace::train::Group& group) {
    const at::Tensor touched = mine.touched.cpu().contiguous(), sums = mine.sums.cpu().contiguous();
    const auto bytes = [](const at::Tensor& of) {
        return std::string_view(static_cast<const char*>(of.const_data_ptr()), of.nbytes());
    };
    ASSIGN_OR_RETURN(const std::vector<std::string> rows, group.gather(bytes(touched)));
    ASSIGN_OR_RETURN(const std::vector<std::string> values, group.gather(bytes(sums)));
    std::vector<Gradients> out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto count = static_cast<std::int64_t>(rows[r].size() / sizeof(std::int64_t));
        if (values[r].size() !=
            static_cast<std::size_t>(count * tables.dim) * sums.element_size()) {
            return internalError("ranks: rank ", r, " gave ", values[r].size(),
                                 " bytes of gradients for ", count, " rows of ", tables.dim);
        }
        const auto tensor = [&](const std::string& of, at::IntArrayRef shape, at::ScalarType type) {
            return at::from_blob(const_cast<char*>(of.data()), shape, type)
                .clone()
                .to(mine.sums.device());
        };
        if (count > 0) {
            out.push_back({tensor(rows[r], {count}, at::kLong),
                           tensor(values[r], {count, tables.dim}, sums.scalar_type())});
        }
    }
    return out;
}

Status TensorTables::sumOverRanks(millrace::train::Group& group) {
    for (Group& tables : groups_) {
        std::vector<Gradients> parts = std::move(tables.step);
        tables.step.clear();
        if (group.size() > 1) {
            const Gradients nothing{at::empty({0}, tables.allStarts.options()),
                                    at::empty({0, tables.dim}, tables.weight.options())};
            ASSIGN_OR_RETURN(parts,
                             ofAllRanks(tables, parts.empty() ? nothing : together(parts), group));
        }
        if (!parts.empty()) {
            tables.step.push_back(together(parts));
        }
    }
    return okStatus();
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

void TensorTables::apply(const OptimizerOptions& optimizer, std::int64_t updates,
                         const at::Tensor& divisor) {
    const FreeOrder everyRowOnce;
    for (Group& tables : groups_) {
        for (const Gradients& all : tables.step) {
            const auto taken = [&](const at::Tensor& from) {
                return from.defined() ? from.index_select(0, all.touched) : at::Tensor();
            };
            at::Tensor values = taken(tables.weight), first = taken(tables.first),
                       second = taken(tables.second);
            updateTensors(optimizer, updates, divisor, all.sums, values, first, second);
            tables.weight.index_copy_(0, all.touched, values);
            tables.isUsed.index_fill_(0, all.touched, true);
            if (first.defined()) {
                tables.first.index_copy_(0, all.touched, first);
            }
            if (second.defined()) {
                tables.second.index_copy_(0, all.touched, second);
            }
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
