#include "app/gui/pages/page.h"
