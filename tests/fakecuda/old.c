/* A driver that is too old for us: it has only this function. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);
int cuInit(unsigned flags) { return flags != 0; }
