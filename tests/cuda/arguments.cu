// The program's arguments and its exit code.
/* args: 3 four
   exit: 7
   expect:
2 arguments: 3 four, of tests/cuda/arguments
*/
#include <stdio.h>
#include <stdlib.h>

__global__ void nothing() {}

int main(int argc, char **argv)
{
    nothing<<<1, 1>>>();
    printf("%d arguments: %s %s, of %s\n", argc - 1, argv[1], argv[2], argv[0]);
    exit(argc == 3 ? atoi(argv[1]) + 4 : 1);
}
