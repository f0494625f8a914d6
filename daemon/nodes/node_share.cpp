#include "daemon/nodes/node_share.h"

#include <algorithm>
#include <cstdlib>

#include "backend/system/network_interface.h"
#include "backend/telemetry/probes.h"
#include "daemon/transport/join_file.h"

namespace millrace::nodes {
namespace {

// Returns "" if the head is this machine.
std::string hostOfHead(const config::DaemonConfig& config) {
    const auto file = transport::JoinFile::read(config.joinFile);
    const auto address = file.ok() ? Address::parse(file->address) : file.status();
    return address.ok() ? address->host : "";
}

}  // namespace

std::string nodeName(const config::DaemonConfig& config) {
    const auto file = transport::JoinFile::read(config.joinFile);
    return config.nodeName.empty() && file.ok() ? file->node : config.nodeName;
}

Status takeShare(const config::NodeShare& share, values::NodeInfo& info) {
    const auto usable = telemetry::usableGpus(info.gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
    std::erase_if(info.gpus, [&](const values::GpuInfo& gpu) {
        const auto name = telemetry::usableGpus({gpu}, nullptr);
        return std::find(usable.begin(), usable.end(), name.front()) == usable.end();
    });
    info.cores = share.cores > 0 ? share.cores : info.cores;
    info.memoryBytes = share.memoryBytes > 0 ? share.memoryBytes : info.memoryBytes;
    if (share.gpus < 0) {
        return okStatus();
    }
    const auto wanted = static_cast<std::size_t>(share.gpus);
    if (wanted > info.gpus.size()) {
        return invalidArgument("--gpus ", share.gpus, ": this node has ", info.gpus.size(),
                               info.gpuNote.empty() ? "" : strCat(" (", info.gpuNote, ")"));
    }
    info.gpus.resize(wanted);
    info.gpuNote = wanted == 0 ? "its agent gives none (--gpus 0)" : info.gpuNote;
    return okStatus();
}

std::string ownAddress(const config::DaemonConfig& config) {
    if (!config.nodeAddress.empty()) {
        return config.nodeAddress;
    }
    const std::string host = hostOfHead(config);
    return host.empty() ? "" : addressFacing(host);
}

std::string ownInterface(const config::DaemonConfig& config) {
    const std::string host = hostOfHead(config);
    return host.empty() ? ""
                        : interfaceFacing(config.nodeAddress.empty() ? host : config.nodeAddress);
}

}  // namespace millrace::nodes
