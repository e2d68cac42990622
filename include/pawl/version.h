#pragma once

#define PAWL_VERSION "0.1.0"
