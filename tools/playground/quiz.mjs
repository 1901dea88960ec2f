// Questions, one at a time, with the answer, whether it is right, and the score. Knows elements, and no world.
import { button, html } from './dom.mjs';
import { setTerms, withTerms } from './glossary.mjs';

export class Quiz {
    #questions; #judge; #watch;
    #shown = 0;
    #answers = [];              // Each question has the first answer, which counts, as {mine, right}.
    #sections; #numbers; #score; #previous; #next;

    // judge(question) shows its world, and returns the number of the right option; watch(question) plays it from the beginning.
    constructor(questions, judge, watch) {
        this.#questions = questions;
        this.#judge = judge;
        this.#watch = watch;
        this.#score = html('p', { class: 'score', role: 'status' });
        this.#numbers = questions.map((_, i) => button(String(i + 1), () => this.#show(i), { class: 'number' }));
        this.#previous = button('Previous question', () => this.#show(this.#shown - 1), { id: 'previous-question' });
        this.#next = button('Next question', () => this.#show(this.#shown + 1), { id: 'next-question' });
        this.#sections = questions.map((question, i) => this.#build(question, i));
        this.#show(0);
    }

    elements() {
        return [html('div', { class: 'numbers', role: 'group', 'aria-label': 'Questions' }, ...this.#numbers), ...this.#sections,
                html('div', { class: 'buttons' }, this.#previous, this.#next), this.#score];
    }

    #build(question, i) {
        const told = html('p', { class: 'answer', role: 'status' });
        const again = button('Watch it from the beginning', () => this.#watch(question), { class: 'watch', hidden: true });
        const options = question.options.map((option, o) => button(option, () => this.#answer(i, o), { 'aria-pressed': 'false' }));
        return html('section', { class: 'question', 'aria-label': `Question ${i + 1}` }, html('p', {}, ...withTerms(`${i + 1}. ${question.ask}`)),
            html('div', { class: 'buttons options' }, ...options), told, again);
    }

    #answer(i, mine) {
        const question = this.#questions[i], right = this.#judge(question), section = this.#sections[i];
        this.#answers[i] ??= { mine, right };
        section.querySelectorAll('.options button').forEach((one, o) => one.setAttribute('aria-pressed', String(o === mine)));
        setTerms(section.querySelector('.answer'), (mine === right ? `✓ Right: ${question.options[right]}.`
            : `✗ Wrong: you chose "${question.options[mine]}", and the world shows "${question.options[right]}".`) + ` ${question.why}`);
        section.querySelector('.answer').dataset.right = String(mine === right);
        section.querySelector('.watch').hidden = false;
        this.#fill();
    }

    #show(i) {
        this.#shown = Math.max(0, Math.min(this.#questions.length - 1, i));
        this.#fill();
    }

    #fill() {
        const given = this.#answers.filter(Boolean), right = given.filter(one => one.mine === one.right).length;
        this.#sections.forEach((section, i) => { section.hidden = i !== this.#shown; });
        this.#numbers.forEach((number, i) => {
            const answer = this.#answers[i], sign = !answer ? '' : answer.mine === answer.right ? ' ✓' : ' ✗';
            number.textContent = `${i + 1}${sign}`;
            number.setAttribute('aria-label', `Question ${i + 1}${!answer ? '' : sign === ' ✓' ? ', right' : ', wrong'}`);
            if (i === this.#shown) number.setAttribute('aria-current', 'true');
            else number.removeAttribute('aria-current');
        });
        this.#previous.disabled = this.#shown === 0;
        this.#next.disabled = this.#shown === this.#questions.length - 1;
        this.#score.textContent = given.length === 0 ? 'Each answer is judged by the engine: the picture shows the question\'s world then.'
            : `${right} of ${given.length} right at the first try${given.length < this.#questions.length ? `, ${this.#questions.length - given.length} to go` : ''}.`;
    }
}
