#include "backend/schedule/node_fit.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/core/status.h"
#include "backend/text/text.h"

namespace millrace::schedule {
namespace {

// Fractions of cores add up with rounding errors.
constexpr double kCpuSlack = 1e-6;

std::string shortage(const Resources& needs, const Resources& has, std::string_view of) {
    if (needs.cpus > has.cpus + kCpuSlack) {
        return strCat("needs ", needs.cpus, needs.cpus == 1 ? " core, " : " cores, ", has.cpus, " ",
                      of);
    }
    if (needs.gpus > has.gpus) {
        return strCat("needs ", needs.gpus, needs.gpus == 1 ? " GPU, " : " GPUs, ", has.gpus, " ",
                      of);
    }
    return strCat("needs ", formatBytes(static_cast<double>(needs.memoryBytes)), " of memory, ",
                  formatBytes(static_cast<double>(has.memoryBytes)), " ", of);
}

std::string amounts(const Resources& needs) {
    std::string text = needs.cpus >= kAllCores
                           ? "all its cores"
                           : strCat(needs.cpus, needs.cpus == 1 ? " core" : " cores");
    if (needs.gpus > 0) {
        strAppend(&text, ", ", needs.gpus, needs.gpus == 1 ? " GPU" : " GPUs");
    }
    if (needs.memoryBytes > 0) {
        strAppend(&text, " and ", formatBytes(static_cast<double>(needs.memoryBytes)));
    }
    return text;
}

bool hasRoom(const Node& node, const Resources& needs) {
    return withinNode(needs, node.total).fitsIn(node.free);
}

// The parts on other nodes, and their needs.
struct Others {
    std::vector<std::size_t> parts;
    std::vector<Resources> needs;
};

// Chooses a node for each part; returns nothing if there are too few.
std::optional<std::vector<std::string>> choose(const Others& others, std::vector<Node> ready) {
    std::ranges::stable_sort(ready, [](const Node& a, const Node& b) {
        return std::make_pair(-a.free.cpus, a.name) < std::make_pair(-b.free.cpus, b.name);
    });
    std::vector<std::string> chosen;
    for (const Resources& needs : others.needs) {
        const auto found =
            std::ranges::find_if(ready, [&](const Node& node) { return hasRoom(node, needs); });
        if (found == ready.end()) {
            return std::nullopt;
        }
        chosen.push_back(found->name);
        ready.erase(found);
    }
    return chosen;
}

std::string tooFew(const Others& others, const std::vector<Node>& ready, bool isBesideHead) {
    const Resources &first = others.needs.front(), &last = others.needs.back();
    std::string names;
    for (const Node& node : ready) {
        strAppend(&names,
                  !hasRoom(node, last) ? ""
                  : names.empty()      ? ""
                                       : ", ",
                  hasRoom(node, last) ? node.name : "");
    }
    const std::size_t count = others.needs.size();
    return strCat("needs ", count, count == 1 ? " node" : " nodes",
                  isBesideHead ? " beside the head's" : "", " with ", amounts(last),
                  " free for each",
                  first == last ? "" : strCat(", and on one of them ", amounts(first)),
                  "; ready: ", names.empty() ? "none" : names, " (millrace nodes)");
}

void fitOthers(const Others& others, const std::vector<Node>& nodes, bool isBesideHead, Fit& all) {
    std::vector<Node> ready = nodes;
    std::erase_if(ready, [](const Node& node) { return node.name.empty() || !node.mayTake; });
    if (const auto chosen = choose(others, ready)) {
        for (std::size_t i = 0; i < chosen->size(); ++i) {
            all.nodes[others.parts[i]] = (*chosen)[i];
        }
        return;
    }
    all.reason = tooFew(others, ready, isBesideHead);
    for (Node& node : ready) {
        node.free = node.total;
    }
    const bool isBusy = choose(others, ready).has_value();
    all.kind = isBusy ? Fit::Kind::kLater : Fit::Kind::kLacksNodes;
}

void fitHead(const Resources& needs, const std::vector<Node>& nodes, Fit& all) {
    const auto head =
        std::ranges::find_if(nodes, [](const Node& node) { return node.name.empty(); });
    INVARIANT(head != nodes.end(), "the head's machine is one of the nodes");
    const Resources least = withinNode(needs, head->total);
    if (!least.fitsIn(head->total)) {
        all.kind = Fit::Kind::kNever;
        all.reason = shortage(least, head->total, "in all on the head's machine");
    } else if (!least.fitsIn(head->free) && all.kind == Fit::Kind::kNow) {
        all.kind = Fit::Kind::kLater;
        all.reason = shortage(least, head->free, "free on the head's machine");
    }
}

}  // namespace

Resources& Resources::operator+=(const Resources& other) {
    cpus += other.cpus;
    gpus += other.gpus;
    memoryBytes += other.memoryBytes;
    return *this;
}

Resources& Resources::operator-=(const Resources& other) {
    cpus = std::max(0.0, cpus - other.cpus);
    gpus = std::max(0, gpus - other.gpus);
    memoryBytes -= std::min(memoryBytes, other.memoryBytes);
    return *this;
}

bool Resources::fitsIn(const Resources& other) const {
    return cpus <= other.cpus + kCpuSlack && gpus <= other.gpus && memoryBytes <= other.memoryBytes;
}

Resources withinNode(const Resources& needs, const Resources& total) {
    return {std::min(needs.cpus, total.cpus), needs.gpus,
            std::min(needs.memoryBytes, total.memoryBytes)};
}

Resources needsWithBeside(const std::vector<Part>& parts, int part) {
    Resources sum = parts[static_cast<std::size_t>(part)].needs;
    for (const Part& one : parts) {
        if (one.where == Part::Where::kBeside && one.beside == part) {
            sum += one.needs;
        }
    }
    sum.cpus = std::min(sum.cpus, kAllCores);
    return sum;
}

Fit fit(const std::vector<Part>& parts, const std::vector<Node>& nodes) {
    Fit all;
    all.nodes.resize(parts.size());
    Others others;
    std::optional<Resources> onHead;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].where == Part::Where::kBeside) {
            continue;
        }
        const Resources needs = needsWithBeside(parts, static_cast<int>(i));
        if (parts[i].where == Part::Where::kHead) {
            onHead = needs;
        } else {
            others.parts.push_back(i);
            others.needs.push_back(needs);
        }
    }
    if (!others.parts.empty()) {
        fitOthers(others, nodes, onHead.has_value(), all);
    }
    if (onHead.has_value()) {
        fitHead(*onHead, nodes, all);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].where == Part::Where::kBeside) {
            all.nodes[i] = all.nodes[static_cast<std::size_t>(parts[i].beside)];
        }
    }
    return all;
}

void take(const std::vector<Part>& parts, const std::vector<std::string>& on,
          std::vector<Node>& nodes) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto node =
            std::ranges::find_if(nodes, [&](const Node& one) { return one.name == on[i]; });
        if (parts[i].where != Part::Where::kBeside && node != nodes.end()) {
            node->free -= withinNode(needsWithBeside(parts, static_cast<int>(i)), node->total);
        }
    }
}

}  // namespace millrace::schedule
