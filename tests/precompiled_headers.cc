// Compiled for its precompiled headers alone (CMakeLists.txt).
int main() { return 0; }
