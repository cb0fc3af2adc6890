/* The page's style sheet: cli/report/page.css, as a part of the command. */
#ifndef CLI_REPORT_STYLE_H
#define CLI_REPORT_STYLE_H

const char *page_style(void);

#endif
