/* The style sheet of the page: cli/report/page.css, embedded in the command. */
#ifndef CLI_REPORT_STYLE_H
#define CLI_REPORT_STYLE_H

const char *page_style(void);

#endif
