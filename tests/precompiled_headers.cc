// Compiled only for its precompiled headers (CMakeLists.txt).
int main() { return 0; }
