/* The command of the Python package. All of it is in the library, which the module of the package uses as well. */
int ig_command(int argc, char **argv);

int main(int argc, char **argv) { return ig_command(argc, argv); }
