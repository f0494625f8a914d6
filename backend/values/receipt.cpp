#include "backend/values/receipt.h"

namespace millrace::values {

std::string_view Receipt::countedText() const {
    if (!endsInsideSegment) {
        return "";
    }
    return isOpenSegmentCounted ? "rows read, kept and by step are of whole segments, also of the "
                                  "last one, inside which the run ended; rows trained are exact"
                                : "rows read, kept and by step are of whole segments without the "
                                  "last one, inside which the run ended; rows trained are exact";
}

}  // namespace millrace::values
