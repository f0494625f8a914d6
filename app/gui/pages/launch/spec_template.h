#pragma once
// The spec that "New" begins with. A test holds it against the reader.
#include <QString>

namespace millrace::gui {

QString specTemplate();

}  // namespace millrace::gui
