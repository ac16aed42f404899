/*
 * html_source.h: the lines of functions, and the text of their files, for the viewer's page.
 */
#ifndef TRUEFLAME_HTML_SOURCE_H
#define TRUEFLAME_HTML_SOURCE_H

#include "formats/html_page.h"
#include "profile/transform.h"

/* Lines of the functions that the page has. `embed` puts in the text of their files too: those
 * that are readable here, and not unreasonably large. */
void html_put_lines(struct page *page, const struct profile *profile, enum python_mode mode,
                    bool embed);

#endif
