// Stands in for torch/ in builds without LibTorch (sanitizers): networks are refused.
#include "backend/train/dense_network.h"

namespace millrace::train {

std::unique_ptr<DenseNetwork> makeTorchNetwork(const NetworkOptions&, std::string& error) {
    error = "this build has no LibTorch";
    return nullptr;
}

std::string torchVersion() {
    return "none";
}

}  // namespace millrace::train
