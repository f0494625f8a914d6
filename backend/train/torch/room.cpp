// The torch room as one translation unit: LibTorch's headers are read once.
#include "backend/train/torch/network.cpp"  // NOLINT(bugprone-suspicious-include)
