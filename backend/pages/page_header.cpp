// parsePageHeader: the part of Thrift's compact protocol that a page header needs.
#include "backend/pages/compact_reader.h"
#include "backend/pages/page_stream.h"

namespace millrace::pages {
namespace {

/// Returns where field `id` of a struct is stored; null if it is not needed.
using Places = std::int32_t* (*)(PageHeader&, int);

void readFields(CompactReader& reader, PageHeader& header, Places places, int boolId) {
    int id = 0, type = 0;
    while (reader.isFine() && reader.field(id, type)) {
        std::int32_t* const place = places(header, id);
        if (id == boolId && (type == kTrue || type == kFalse)) {
            header.isCompressed = type == kTrue;
        } else if (place != nullptr && type == kI32) {
            *place = reader.i32();
        } else {
            reader.skip(type);
        }
    }
}

std::int32_t* dataPlaces(PageHeader& h, int id) {
    std::int32_t* const places[] = {&h.numValues, &h.encoding, &h.definitionEncoding,
                                    &h.repetitionEncoding};
    return id >= 1 && id <= 4 ? places[id - 1] : nullptr;
}

std::int32_t* dictionaryPlaces(PageHeader& h, int id) {
    return id == 1 ? &h.numValues : id == 2 ? &h.encoding : nullptr;
}

std::int32_t* dataV2Places(PageHeader& h, int id) {
    std::int32_t* const places[] = {&h.numValues,       nullptr,           &h.numRows, &h.encoding,
                                    &h.definitionBytes, &h.repetitionBytes};
    return id >= 1 && id <= 6 ? places[id - 1] : nullptr;
}

}  // namespace

std::int64_t parsePageHeader(arrays::ByteSpan bytes, PageHeader& header) {
    header = {};
    CompactReader reader(bytes);
    int id = 0, type = 0;
    while (reader.isFine() && reader.field(id, type)) {
        std::int32_t* const places[] = {&header.type, &header.bytes, &header.compressedBytes};
        if (id >= 1 && id <= 3 && type == kI32) {
            *places[id - 1] = reader.i32();
        } else if (id == 4 && type == kI32) {
            header.crc = reader.i32();
            header.hasCrc = true;
        } else if (type == kStruct && id == 5) {
            readFields(reader, header, dataPlaces, -1);
        } else if (type == kStruct && id == 7) {
            readFields(reader, header, dictionaryPlaces, -1);
        } else if (type == kStruct && id == 8) {
            readFields(reader, header, dataV2Places, 7);
        } else {
            reader.skip(type);
        }
    }
    if (reader.isEnded()) {
        return 0;
    }
    const bool isSane = !reader.isBad() && header.type >= 0 && header.bytes >= 0 &&
                        header.compressedBytes >= 0 && header.numValues >= 0 &&
                        header.definitionBytes >= 0 && header.repetitionBytes >= 0;
    return isSane ? reader.length() : -1;
}

}  // namespace millrace::pages
