#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

#include "backend/text/text.h"
#include "backend/train/network_shape.h"
#include "backend/train/part_timer.h"
#include "backend/train/torch/batch_tensors.h"
#include "backend/train/torch/device.h"
#include "backend/train/torch/input_scaler.h"
#include "backend/train/torch/modules.h"
#include "backend/train/torch/tensor_tables.h"
#include "backend/train/torch/updates.h"
#include "backend/train/torch_learner.h"

namespace millrace::train {
namespace {

/// Runs `work`; returns what LibTorch throws as kInternal.
template <class Work>
Status guarded(const char* what, Work work) {
    try {
        return work();
    } catch (const std::exception& e) {
        return internalError("train: LibTorch, ", what, ": ", e.what());
    }
}

class TensorLearner final : public Learner {
 public:
    TensorLearner(const LearnerOptions& options, const at::Device& device, Group& group,
                  bool isOnHost)
        : options_(options),
          group_(group),
          device_(device),
          isOnHost_(isOnHost),
          type_(options.precision == "fp64" ? at::kDouble : at::kFloat),
          tables_(options, at::TensorOptions(device).dtype(type_), isOnHost),
          model_(options, tables_.width(), at::TensorOptions(device).dtype(type_), isOnHost),
          scaler_(options.denseWidth, at::TensorOptions(device).dtype(type_)),
          lane_(device) {
        const int moments = numMoments(options.optimizer);
        first_ = moments > 0 ? at::zeros_like(model_.values()) : at::Tensor();
        second_ = moments > 1 ? at::zeros_like(model_.values()) : at::Tensor();
        initialise();
    }

    Status accumulate(const BatchView& batch, LossSums& sums) override {
        RETURN_IF_ERROR(checkBatch(options_, batch));
        return batch.rows == 0 ? okStatus() : guarded("a step", [&]() -> Status {
            const c10::NoGradGuard noGradients;
            Input input;
            at::Tensor logits;
            {
                const PartTimer timer(times_.forward);
                if (!scaler_.isStarted()) {
                    RETURN_IF_ERROR(scaler_.start(&batch, group_));
                }
                ASSIGN_OR_RETURN(input, bring(batch, true));
                const Dropout dropout{options_.dropout, options_.seed, &batch};
                logits = forward(input, dropout.share > 0 ? &dropout : nullptr);
            }
            const PartTimer timer(times_.backward);
            const at::Tensor vectors = model_.backward(lossGradients(input.batch, logits));
            if (vectors.defined()) {
                tables_.sumGradients(input.places, vectors);
            }
            scaler_.observe(batch);
            addWeights(batch, sums);
            return okStatus();
        });
    }

    Status collect(LossSums& sums) override {
        return guarded("the losses", [&] {
            if (losses_.defined()) {
                const at::Tensor told = losses_.cpu();
                sums.loss.resize(options_.heads.size());
                for (std::size_t h = 0; h < sums.loss.size(); ++h) {
                    sums.loss[h] += told.const_data_ptr<double>()[h];
                }
                losses_.reset();
            }
            return okStatus();
        });
    }

    std::vector<std::int64_t> rowsNotFinite() override {
        std::vector<std::int64_t> out;
        std::int64_t from = 0;
        for (const at::Tensor& losses : rowLosses_) {
            const at::Tensor bad =
                losses.isfinite().all(1).logical_not().nonzero().view({-1}).cpu();
            for (std::int64_t i = 0; i < bad.numel(); ++i) {
                out.push_back(from + bad.const_data_ptr<std::int64_t>()[i]);
            }
            from += losses.size(0);
        }
        return out;
    }

    Status apply(double weight, UpdateFigures* figures) override {
        return guarded("an update", [&]() -> Status {
            const c10::NoGradGuard noGradients;
            const bool isUpdate = std::isfinite(weight) && weight > 0;
            RETURN_IF_ERROR(communicate(isUpdate));
            if (isUpdate) {
                update(weight, figures);
            }
            isStepOver_ = true;
            model_.gradients().zero_();
            tables_.clear();
            return checkStepWeight(weight);
        });
    }

    Status predict(const BatchView& batch, std::vector<double>& probabilities) override {
        RETURN_IF_ERROR(checkBatch(options_, batch));
        probabilities.clear();
        return batch.rows == 0 ? okStatus() : guarded("a prediction", [&] {
            const c10::NoGradGuard noGradients;
            ASSIGN_OR_RETURN(const Input input, bring(batch, false));
            const at::Tensor told =
                forward(input, nullptr).to(at::kDouble).sigmoid().cpu().contiguous();
            probabilities.assign(told.const_data_ptr<double>(),
                                 told.const_data_ptr<double>() + told.numel());
            return okStatus();
        });
    }

    std::vector<TensorRef> tensors() override {
        staged_.clear();
        std::vector<TensorRef> out;
        for (const Stored& one : stored()) {
            // On a CPU this is the tensor itself.
            at::Tensor& here = staged_.emplace_back(one.tensor.detach().cpu().contiguous());
            out.push_back({one.name,
                           here.scalar_type() == at::kDouble ? DType::kFloat64 : DType::kFloat32,
                           here.sizes().vec(), here.data_ptr(), one.isWeight});
        }
        scaler_.appendTensors(out);
        out.push_back({"optimizer.updates", DType::kInt64, {1}, &updates_});
        std::sort(out.begin(), out.end(),
                  [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
        return out;
    }

    Status restore(const Checkpoint& checkpoint) override {
        return take([&] { return copyTensors(checkpoint, tensors()); });
    }
    Result<std::vector<std::string>> begin(const InitFrom& from) override {
        std::vector<std::string> left;
        RETURN_IF_ERROR(take([&]() -> Status {
            ASSIGN_OR_RETURN(left, copyMatching(from, tensors()));
            return okStatus();
        }));
        return left;
    }
    std::int64_t epochsMax() const override { return INT64_MAX; }
    LearnerTimes times() const override { return times_; }
    std::vector<TableUse> tableUse() const override { return tables_.use(); }
    std::int64_t deviceBytes() const override { return mostMemory(device_); }

 private:
    struct Input {
        BatchTensors batch;
        TensorTables::Places places;
    };
    struct Stored {
        std::string name;
        at::Tensor tensor;
        bool isWeight = false;
    };

    // Logistic regression has a convex loss: it needs no random start, and a weight that training
    // never reaches adds nothing. So does row 0 of a table, which is for unknown values.
    void initialise() {
        const bool isConvex = options_.model == "logistic";
        for (const ModuleParameter& p : model_.parameters()) {
            const std::vector<std::int64_t> shape = p.values.sizes().vec();
            fill(p.name, isConvex ? 0 : layerBound(shape), p.values);
        }
        for (const TensorTables::Table& table : tables_.tables()) {
            fill("embedding." + table.name + ".weight",
                 isConvex ? 0 : tableBound(table.weight.size(0)), table.weight);
            table.weight.select(0, 0).zero_();
        }
    }

    void fill(const std::string& name, float bound, const at::Tensor& to) const {
        if (bound == 0) {
            at::Tensor(to).zero_();
            return;
        }
        const at::Tensor values = at::empty(to.sizes(), at::kFloat);
        fillUniform(options_.seed, name, bound, values.numel(), values.data_ptr<float>());
        at::Tensor(to).copy_(values);
    }

    // Runs on the lane while the previous batch is computed; the caller's memory is free when it
    // returns, except on a CPU.
    Result<Input> bring(const BatchView& batch, bool isTraining) {
        Input input;
        bool isWrong = false;
        {
            const CopyLane::Turn turn(lane_);
            input.batch = tensorsOf(batch, device_, !isOnHost_);
            input.places = tables_.placesOf(batch, input.batch, isTraining);
            isWrong = input.places.isWrong;
            lane_.finish();
        }
        if (isWrong) {
            RETURN_IF_ERROR(findWrongId(options_, batch));
        }
        lane_.joinComputing();
        lane_.lend(input.batch.dense);
        lane_.lend(input.batch.labels);
        lane_.lend(input.batch.weights);
        TensorTables::lend(input.places, lane_);
        return input;
    }

    at::Tensor forward(const Input& input, const Dropout* dropout) {
        return model_.forward(scaler_.scale(input.batch.dense),
                              tables_.pool(input.places, input.batch.rows), dropout);
    }

    // Merges the statistics and gradients of all ranks.
    Status communicate(bool isUpdate) {
        const PartTimer timer(group_.size() > 1 ? times_.communication : times_.optimizer);
        if (!scaler_.isStarted()) {
            RETURN_IF_ERROR(scaler_.start(nullptr, group_));
        }
        RETURN_IF_ERROR(scaler_.endStep(group_));
        if (isUpdate) {
            RETURN_IF_ERROR(sumOverRanks(model_.gradients()));
            RETURN_IF_ERROR(tables_.sumOverRanks(group_));
        }
        return okStatus();
    }

    // The gradients are already those of all ranks: each rank makes the same update.
    void update(double weight, UpdateFigures* figures) {
        const PartTimer timer(times_.optimizer);
        ++updates_;
        const double divisor = divisorOf(weight, figures);
        const OptimizerOptions dense = scheduled(options_.optimizer, options_.schedule, updates_);
        const OptimizerOptions tables = scheduled(options_.ofTables(), options_.schedule, updates_);
        if (figures != nullptr) {
            figures->learningRate = dense.learningRate;
            figures->tableLearningRate = tables.learningRate;
            figures->rowsTouched = tables_.numTouched();
        }
        updateWeights(dense, updates_, divisor, model_.gradients(),
                      {model_.values(), first_, second_}, at::Tensor(), isOnHost_);
        tables_.apply(tables, updates_, divisor);
    }

    // The divisor of the gradients: the step's weight, more if they are clipped. If the norm is not
    // to be reported, it stays on the device, and the gradients are clipped there.
    double divisorOf(double weight, UpdateFigures* figures) {
        if (options_.clipNorm == 0 && figures == nullptr) {
            return weight;
        }
        const at::Tensor norm =
            (normOf(model_.gradients()).square() + tables_.squaredGradients()).sqrt() / weight;
        if (figures == nullptr && !isOnHost_) {
            const at::Tensor excess = ((norm + kClipEpsilon) / options_.clipNorm).clamp_min(1);
            model_.gradients().div_(excess);
            tables_.divide(excess);
            return weight;
        }
        const double value = norm.item<double>();
        if (figures != nullptr) {
            figures->gradientNorm = value;
        }
        return weight * clipDivisor(value, options_.clipNorm);
    }

    // Adds sum(w * loss) per head to losses_; returns its derivative by the logits (formulas:
    // loss.h).
    at::Tensor lossGradients(const BatchTensors& batch, const at::Tensor& logits) {
        const at::Tensor z = at::empty(logits.sizes(), logits.options().dtype(at::kDouble));
        z.copy_(logits);
        const at::Tensor &y = batch.labels, &w = batch.weights;
        const at::Tensor byRow = at::addcmul(z, z, y, -1).sub_(at::log_sigmoid(z)).mul_(w);
        byRow.masked_fill_(w == 0, 0);  // also where the logit is infinite
        const at::Tensor sums = byRow.sum(0);
        if (isStepOver_) {
            rowLosses_.clear();
            isStepOver_ = false;
        }
        rowLosses_.push_back(byRow);
        losses_ = losses_.defined() ? losses_ + sums : sums;
        return at::empty_like(logits).copy_(z.sigmoid_().sub_(y).mul_(w));
    }

    Status sumOverRanks(at::Tensor& values) {
        if (group_.size() == 1) {
            return okStatus();
        }
        const at::Tensor here = values.cpu().contiguous();
        const auto count = static_cast<std::size_t>(here.numel());
        RETURN_IF_ERROR(type_ == at::kDouble
                            ? group_.sum(std::span(here.data_ptr<double>(), count))
                            : group_.sum(std::span(here.data_ptr<float>(), count)));
        if (!here.is_same(values)) {
            values.copy_(here);
        }
        return okStatus();
    }

    std::vector<Stored> stored() {
        std::vector<Stored> out;
        const auto add = [&](const std::string& name, const at::Tensor& values,
                             const at::Tensor& first, const at::Tensor& second) {
            out.push_back({name, values, true});
            if (first.defined()) {
                out.push_back({"optimizer." + name + ".first", first});
            }
            if (second.defined()) {
                out.push_back({"optimizer." + name + ".second", second});
            }
        };
        for (const ModuleParameter& p : model_.parameters()) {
            const auto part = [&](const at::Tensor& of) {
                return of.defined() ? of.narrow(0, p.place, p.values.numel()).view(p.values.sizes())
                                    : at::Tensor();
            };
            add(p.name, p.values, part(first_), part(second_));
        }
        for (const TensorTables::Table& table : tables_.tables()) {
            add("embedding." + table.name + ".weight", table.weight, table.first, table.second);
        }
        return out;
    }

    /// `copy` writes into tensors().
    Status take(const std::function<Status()>& copy) {
        return guarded("a checkpoint", [&]() -> Status {
            const c10::NoGradGuard noGradients;
            RETURN_IF_ERROR(copy());
            const std::vector<Stored> to = stored();
            for (std::size_t i = 0; i < to.size(); ++i) {
                at::Tensor(to[i].tensor).copy_(staged_[i]);
            }
            scaler_.restored();
            staged_.clear();
            return okStatus();
        });
    }

    const LearnerOptions options_;
    Group& group_;
    const at::Device device_;
    const bool isOnHost_;  // loops where they beat LibTorch's calls
    const at::ScalarType type_;
    TensorTables tables_;
    DenseModel model_;
    InputScaler scaler_;
    CopyLane lane_;
    at::Tensor first_, second_;          // moments, as model_.values()
    at::Tensor losses_;                  // float64 [heads]: not collected yet
    std::vector<at::Tensor> rowLosses_;  // float64 [rows, heads], of the step's batches
    bool isStepOver_ = false;            // the step of these has ended
    std::vector<at::Tensor> staged_;     // backs the references of tensors()
    std::int64_t updates_ = 0;
    LearnerTimes times_;
};

/// Settings of the whole process.
void fixArithmetic(const LearnerOptions& options) {
    at::Context& context = at::globalContext();
    context.setDeterministicAlgorithms(options.isDeterministic, false);
    context.setDeterministicFillUninitializedMemory(false);
    context.setFloat32MatmulPrecision(options.usesTf32 ? "high" : "highest");
    at::set_num_threads(options.threads);
    // LibTorch accepts it once, but ranks that are threads of one process may get here together.
    static std::once_flag isSet;
    std::call_once(isSet, [] { at::set_num_interop_threads(1); });
}

}  // namespace

Result<std::unique_ptr<Learner>> makeTensorLearner(const LearnerOptions& options, Group& group,
                                                   bool asOnGpu) {
    ASSIGN_OR_RETURN(const at::Device device, openDevice(options.device));
    std::unique_ptr<Learner> made;
    RETURN_IF_ERROR(guarded("the model", [&] {
        fixArithmetic(options);
        made = std::make_unique<TensorLearner>(options, device, group, device.is_cpu() && !asOnGpu);
        return okStatus();
    }));
    return made;
}

Result<std::string> resolveDevice(const std::string& name) {
    ASSIGN_OR_RETURN(const at::Device device, openDevice(name));
    return std::string(device.is_cuda() ? "cuda" : "cpu");
}

Status pinRing(const std::string& device, void* data, std::size_t size) {
    if (!pinMemory(at::Device(device), data, size)) {
        return resourceExhausted("train: ", formatBytes(static_cast<double>(size)),
                                 " of the ring cannot be pinned for the GPU; less may be locked "
                                 "than the ring needs (ulimit -l)");
    }
    return okStatus();
}

std::string torchVersion() {
    return TORCH_VERSION;
}

Status unpinRing(const std::string& device, void* data) {
    unpinMemory(at::Device(device), data);
    return okStatus();
}

}  // namespace millrace::train
