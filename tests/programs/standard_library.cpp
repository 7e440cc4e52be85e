/* Memory taken by the standard library is charged to the program's own function that made it do so.
 */
#include <map>
#include <string>
#include <vector>

#include "known.h"

SITE static std::vector<int> *fills_vector()
{
    auto *v = new std::vector<int>;

    v->reserve(1000);
    return v;
}

SITE static std::string *makes_string()
{
    auto *s = new std::string(99, 'x');

    return s;
}

SITE static std::map<int, long> *fills_map()
{
    auto *m = new std::map<int, long>;

    for (int i = 0; i < 100; i++)
        (*m)[i] = i;
    return m;
}

int main()
{
    known_sink = fills_vector();
    known_sink = makes_string();
    known_sink = fills_map();
    return 0;
}
