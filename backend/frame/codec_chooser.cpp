// CodecChooser: measures candidates on a stream's first frames.
#include <algorithm>
#include <chrono>

#include "backend/frame/codec.h"

namespace millrace::frame {
namespace {

constexpr CodecChoice kCandidates[] = {
    {Codec::kNone, 0}, {Codec::kLz4, 0}, {Codec::kZstd, -5}, {Codec::kZstd, 1}, {Codec::kZstd, 3}};

using Clock = std::chrono::steady_clock;

double nsSince(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

}  // namespace

CodecChooser::CodecChooser(const FrameLayout& layout)
    : layout_(layout), measures_(layout.numColumns()) {
    for (std::vector<CodecMeasure>& column : measures_) {
        for (const CodecChoice& choice : kCandidates) {
            column.push_back({choice, 0, 0, 0, 0});
        }
    }
}

Status CodecChooser::add(const FrameView& frame) {
    if (frame.numColumns() != layout_.numColumns()) {
        return invalidArgument("codec: a frame of another layout");
    }
    std::vector<std::byte> coded, decoded;
    for (std::size_t c = 0; c < frame.numColumns(); ++c) {
        const ColumnEntry& entry = frame.entry(c);
        for (const Extent& extent : {entry.data, entry.offsets, entry.weights}) {
            const auto sample = frame.bytes().subspan(
                extent.offset, std::min<std::size_t>(extent.bytes, kSampleBytes));
            if (sample.empty()) {
                continue;
            }
            // Extrapolates from the sample to the whole payload.
            const double scale =
                static_cast<double>(extent.bytes) / static_cast<double>(sample.size());
            for (CodecMeasure& measure : measures_[c]) {
                coded.resize(CodecContext::mostBytes(measure.choice, sample.size()));
                decoded.resize(sample.size());
                const auto start = Clock::now();
                const auto [codec, codedBytes] = context_.encode(measure.choice, sample, coded);
                const double encodeNs = nsSince(start);
                const auto bytes = std::span<const std::byte>(coded).first(codedBytes);
                const auto middle = Clock::now();
                INVARIANT(context_.decode(codec, bytes, decoded), "what was coded decodes");
                measure.decodeNs += nsSince(middle) * scale;
                measure.encodeNs += encodeNs * scale;
                measure.bytes += extent.bytes;
                measure.codedBytes +=
                    static_cast<std::uint64_t>(static_cast<double>(codedBytes) * scale);
            }
        }
    }
    return okStatus();
}

CodecChoice cheapestOf(std::span<const CodecMeasure> measures, double bytesPerNs) {
    return std::ranges::min_element(measures,
                                    [&](const CodecMeasure& a, const CodecMeasure& b) {
                                        return a.costNs(bytesPerNs) < b.costNs(bytesPerNs);
                                    })
        ->choice;
}

CodecPlan cheapestOf(const CodecMeasures& measures, double linkBytesPerSecond) {
    CodecPlan plan;
    for (const std::vector<CodecMeasure>& column : measures) {
        plan.push_back(cheapestOf(column, linkBytesPerSecond / 1e9));
    }
    return plan;
}

}  // namespace millrace::frame
