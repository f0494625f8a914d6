#pragma once
// How a first spec trains: batch, epochs, model and optimizer, from the size of the dataset.
//
// Used by first_spec.cpp. docs/evidence/first-specs.md has the measurements behind the constants.
// Private to profile. Threads: pure.
#include <cstdint>
#include <string>

namespace millrace::profile {

/// Size of the data that a first spec's model is trained on.
struct TrainingShape {
    std::int64_t rows = 0;  ///< with a label; training reads nine tenths of them
    bool hasDense = false, hasIds = false;
    double values = 0;             ///< dense inputs, plus the different values of all ids and lists
    double mostValues = 0;         ///< different values of the id or list that has most
    std::int64_t trainedRows = 0;  ///< exact number of rows of an epoch; 0: estimated from `rows`
    /// With which an id of many values orders rows by the mean labels of others of its rows.
    double idAuc = 0.5;
};

struct FirstTraining {
    std::int64_t batch = 0, epochs = 0;
    std::string model, train;  ///< YAML of these two sections
};

FirstTraining firstTraining(const TrainingShape& shape);

}  // namespace millrace::profile
