#include "answers/answers.h"

#include <math.h>

#include "base/alloc.h"

/* Sums of floating-point probabilities pass 1 by a few units in the last place. */
static const double EDGE = 1e-9;

/* Numbers are rounded to two decimals by the service; a server that writes fewer (0.5, 1) still
 * does. */
enum { FEWEST_DECIMALS = 2, MOST_DECIMALS = 17 };

static void blank(deem_answer *record, int32_t reason) {
    record->status = reason;
    record->flags = 0;
    record->value = NAN;
    record->confidence = NAN;
    record->chosen = -1;
    record->top = -1;
}

static void blank_probabilities(dm_answers *answers, uint32_t question) {
    const dm_plan_question *asked = &answers->set->questions[question];
    for (uint32_t i = 0; i < asked->label_count; i++) {
        answers->probabilities[asked->first_label + i] = NAN;
    }
}

int dm_answers_begin(dm_answers *answers, const deem_question_set *set) {
    if (answers->blank && answers->set == set) {
        return 0;
    }
    if (answers->question_cap < set->question_count) {
        dm_free(answers->records);
        dm_free(answers->notes);
        answers->question_cap = 0;
        answers->records = dm_alloc(set->question_count * sizeof *answers->records);
        answers->notes = dm_alloc(set->question_count * sizeof *answers->notes);
        if (answers->records == NULL || answers->notes == NULL) {
            return -1;
        }
        answers->question_cap = set->question_count;
    }
    if (answers->label_cap < set->label_count) {
        dm_free(answers->probabilities);
        dm_free(answers->legend);
        answers->label_cap = 0;
        answers->probabilities = dm_alloc(set->label_count * sizeof *answers->probabilities);
        answers->legend = dm_alloc(set->label_count * sizeof *answers->legend);
        if (answers->probabilities == NULL || answers->legend == NULL) {
            return -1;
        }
        answers->label_cap = set->label_count;
    }
    answers->set = set;
    for (uint32_t i = 0; i < set->question_count; i++) {
        const dm_plan_question *asked = &set->questions[i];
        answers->records[i] = (deem_answer){.question = (int32_t)i,
                                            .kind = asked->kind,
                                            .first_probability = asked->first_label,
                                            .probability_count = 0};
        blank(&answers->records[i], DEEM_REASON_MISSING);
        answers->notes[i] = (dm_answer_note){0};
    }
    for (uint32_t i = 0; i < set->label_count; i++) {
        answers->probabilities[i] = NAN;
        answers->legend[i] = (dm_range){0};
    }
    answers->blank = 1;
    return 0;
}

void dm_answers_refuse(dm_answers *answers, uint32_t question, int32_t reason) {
    blank(&answers->records[question], reason);
    answers->records[question].probability_count = 0;
    blank_probabilities(answers, question);
}

static double half_unit(uint32_t decimals) {
    static const double table[MOST_DECIMALS + 1] = {5e-1,  5e-2,  5e-3,  5e-4,  5e-5,  5e-6,
                                                    5e-7,  5e-8,  5e-9,  5e-10, 5e-11, 5e-12,
                                                    5e-13, 5e-14, 5e-15, 5e-16, 5e-17, 5e-18};
    if (decimals < FEWEST_DECIMALS) {
        decimals = FEWEST_DECIMALS;
    }
    return table[decimals > MOST_DECIMALS ? MOST_DECIMALS : decimals];
}

static int within(double number, double most) {
    return number >= -EDGE && number <= most + EDGE; /* false for NaN */
}

static dm_verdict refuse(dm_answers *answers, uint32_t question, int32_t reason,
                         dm_answer_part part, uint32_t label, double seen, double limit) {
    dm_answers_refuse(answers, question, reason);
    return (dm_verdict){reason, part, label, seen, limit};
}

static dm_verdict doubt(deem_answer *record, int32_t reason, dm_answer_part part, double seen,
                        double limit) {
    record->status = reason;
    record->flags |= DEEM_ANSWER_DOUBTFUL;
    return (dm_verdict){reason, part, 0, seen, limit};
}

dm_verdict dm_answers_judge(dm_answers *answers, uint32_t question, const dm_claim *claim) {
    const dm_plan_question *asked = &answers->set->questions[question];
    const double *const all = answers->probabilities; /* NULL when the set has no label */
    const uint32_t first = asked->first_label;
    const uint32_t count = asked->label_count;
    deem_answer *record = &answers->records[question];

    double most = asked->kind == DEEM_SCORE ? (double)count - 1 : 1;
    if (asked->kind != DEEM_CHOICE && !within(claim->value, most)) {
        return refuse(answers, question, DEEM_REASON_RANGE, DM_PART_VALUE, 0, claim->value, most);
    }
    if (!isnan(claim->confidence) && !within(claim->confidence, 1)) {
        return refuse(answers, question, DEEM_REASON_RANGE, DM_PART_CONFIDENCE, 0,
                      claim->confidence, 1);
    }
    double sum = 0;
    double mean = 0;
    uint32_t top = 0;
    if (claim->has_probabilities) {
        for (uint32_t i = 0; i < count; i++) {
            if (isnan(all[first + i])) {
                return refuse(answers, question, DEEM_REASON_PROBABILITY_MISSING,
                              DM_PART_PROBABILITY, i, NAN, 0);
            }
            if (!within(all[first + i], 1)) {
                return refuse(answers, question, DEEM_REASON_RANGE, DM_PART_PROBABILITY, i,
                              all[first + i], 1);
            }
            sum += all[first + i];
            mean += i * all[first + i];
            if (all[first + i] > all[first + top]) {
                top = i;
            }
        }
    }

    record->status = DEEM_ANSWER_OK;
    record->flags = 0;
    record->value = claim->value;
    record->confidence = claim->confidence;
    if (!isnan(claim->confidence)) {
        record->flags |= DEEM_ANSWER_HAS_CONFIDENCE;
    }
    if (claim->has_legend) {
        record->flags |= DEEM_ANSWER_HAS_LEGEND;
    }
    if (asked->kind == DEEM_CHOICE) {
        record->chosen = claim->chosen;
    } else if (asked->kind == DEEM_SCORE) {
        record->chosen = (int32_t)(claim->value + 0.5);
        if (record->chosen >= (int32_t)count) {
            record->chosen = (int32_t)count - 1;
        }
    }
    if (!claim->has_probabilities) {
        return (dm_verdict){DEEM_ANSWER_OK, DM_PART_WHOLE, 0, 0, 0};
    }
    record->flags |= DEEM_ANSWER_HAS_PROBABILITIES;
    record->probability_count = count;
    record->top = (int32_t)top;
    if (asked->kind == DEEM_CHOICE) {
        record->value = all[first + (uint32_t)claim->chosen];
    } else {
        record->chosen = (int32_t)top;
    }

    const double r = half_unit(claim->decimals);
    double tolerance = count * r > 0.05 ? count * r : 0.05;
    if (fabs(sum - 1) > tolerance + EDGE) {
        return doubt(record, DEEM_REASON_SUM, DM_PART_PROBABILITIES, sum, tolerance);
    }
    if (asked->kind == DEEM_CHOICE &&
        all[first + (uint32_t)claim->chosen] < all[first + top] - 2 * r - EDGE) {
        return doubt(record, DEEM_REASON_NOT_TOP, DM_PART_VALUE,
                     all[first + (uint32_t)claim->chosen], all[first + top]);
    }
    if (asked->kind == DEEM_SCORE) {
        double pairs = (double)count * (count - 1) / 2;
        double allowed = 0.02 + r * pairs + half_unit(claim->value_decimals);
        if (fabs(claim->value - mean) > allowed + EDGE) {
            return doubt(record, DEEM_REASON_SCORE_MEAN, DM_PART_VALUE, claim->value, mean);
        }
    }
    return (dm_verdict){DEEM_ANSWER_OK, DM_PART_WHOLE, 0, 0, 0};
}

void dm_answers_blank_doubtful(dm_answers *answers) {
    for (uint32_t i = 0; i < answers->set->question_count; i++) {
        if ((answers->records[i].flags & DEEM_ANSWER_DOUBTFUL) != 0) {
            dm_answers_refuse(answers, i, answers->records[i].status);
        }
    }
}

void dm_answers_free(dm_answers *answers) {
    dm_free(answers->records);
    dm_free(answers->notes);
    dm_free(answers->probabilities);
    dm_free(answers->legend);
    *answers = (dm_answers){0};
}
