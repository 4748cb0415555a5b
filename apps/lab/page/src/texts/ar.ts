import type { Texts } from './en.js';

// Latin digits, because they stand beside header fields, which have no others.
const number = new Intl.NumberFormat('ar-u-nu-latn');
const plural = new Intl.PluralRules('ar');

interface Forms {
  readonly one: string;
  readonly two: string;
  /** 3 to 10. */
  readonly few: string;
  /** 11 to 99. */
  readonly many: string;
  readonly other: string;
}

const REQUESTS: Forms = {
  one: 'طلب واحد',
  two: 'طلبان',
  few: 'طلبات',
  many: 'طلبًا',
  other: 'طلب',
};
const MORE: Forms = { one: 'صف آخر', two: 'صفان آخران', few: 'صفوف أخرى', many: 'صفًا آخر', other: 'صف آخر' };

/** As Arabic counts: one and two are words of their own. */
function count(n: number, forms: Forms): string {
  const form = plural.select(n);
  if (form === 'one' || form === 'two') return forms[form];
  return `${number.format(n)} ${form === 'zero' ? forms.other : forms[form]}`;
}

function seconds(ms: number): string {
  return `${number.format(Math.round(ms / 10) / 100)} ث`;
}

export const ar: Texts = {
  language: 'العربية',
  seconds,
  shell: {
    lab: 'جنبًا إلى جنب',
    live: 'مباشر',
    pages: 'الصفحات',
    skip: 'انتقل إلى المحتوى',
    language: 'اللغة',
    theme: 'الألوان',
    themes: { system: 'كالنظام', light: 'فاتحة', dark: 'داكنة' },
    footer: {
      lab: 'كل شيء يُحسب في هذا المتصفح بخطوات المكتبة نفسها، ولا يُرسَل شيء إلى أي مكان.',
      live: 'لا تسأل هذه الصفحة أحدًا سوى خادمها، على هذا الجهاز.',
    },
  },
  lab: {
    title: 'حدود المعدّل جنبًا إلى جنب',
    intro: 'الطلبات نفسها، تحدّها خمس خوارزميات.',
    controls: 'ما الذي يُحدّ، وماذا يصل',
    traffic: 'حركة الطلبات',
    presets: {
      edge: 'عند الحافة',
      steady: 'منتظمة',
      burst: 'دفعات',
      'noisy-neighbour': 'جار مزعج',
      'retrying-client': 'عميل يعيد المحاولة',
    },
    drawn: 'مرسومة',
    see: {
      edge: 'طلبات بقدر المسموح قبيل انتهاء نافذة الساعة، ومثلها بُعيده. من يعدّ بالساعة يمرّر ضعف الحد في ثلاثة أعشار نافذة.',
      steady:
        'أكثر من المسموح بالربع، وبانتظام. العدّ بالساعة يقبل أوائل كل نافذة ثم يرفض الباقي، وسواه يوزّع الرفض على الوقت.',
      burst:
        'ضعف المسموح دفعة واحدة، مرتين. انظر إلى أسوأ ثانية: الدلو المثقوب وحده يُوصلها إلى التطبيق واحدًا واحدًا.',
      'noisy-neighbour':
        'عميل يلتزم حدّه، وآخر يطلب ثلاثة أضعاف حدّه. عُدَّ الجميع معًا، تجد الأول يدفع ثمن الثاني.',
      'retrying-client':
        'أكثر من المسموح بالنصف، ومن رُفض أعاد الطلب فورًا. دعه ينتظر المدة التي يذكرها Retry-After، وانظر كم طلبًا يوفّر ذلك.',
    },
    seeDrawn: 'حركة من رسمك. كل عمود جزء من عشرين من النافذة.',
    limit: 'الحد',
    limitHint: (most) => `عدد الطلبات في النافذة: من 1 إلى ${most}`,
    window: 'النافذة، بالثواني',
    windowHint: (most) => `من 1 إلى ${number.format(most)}`,
    burst: 'الدفعة',
    burstHint: (most) => `سعة الدلوين: من 1 إلى ${most}. إن تُركت فارغة فهي الحد`,
    notWhole: (most) => `أدخل عددًا صحيحًا من 1 إلى ${number.format(most)}.`,
    retries: 'من يُرفض طلبه',
    retriesWords: {
      none: 'لا يعود',
      impatient: 'يعيد الطلب فورًا',
      honest: 'ينتظر المدة التي يذكرها Retry-After',
    },
    key: 'من الذي يُعدّ',
    keyWords: { client: 'كل عميل وحده', everyone: 'الجميع معًا' },
    share: 'انسخ الرابط',
    shared: 'نُسخ. وفيه كل ما تراه.',
    notShared: 'تعذّر النسخ. هذا هو الرابط:',
    draw: 'ارسم حركة الطلبات',
    drawHint:
      'اسحب فوق الأعمدة. وبلوحة المفاتيح: السهمان الأيمن والأيسر يختاران العمود، والأعلى والأسفل أو أي رقم يغيّر قيمته.',
    column: (from) => `الطلبات ابتداءً من ${seconds(from)}`,
    clear: 'امسح',
    play: 'شغّل',
    pause: 'أوقف مؤقتًا',
    whole: 'أظهر الكل',
    time: 'الوقت',
    speed: 'مدة النافذة',
    keys: 'مفتاح المسافة للتشغيل والإيقاف المؤقت. وعلى الصورة ينتقل السهمان الأيمن والأيسر من طلب إلى طلب.',
    algorithms: {
      'fixed-window': 'النافذة الثابتة',
      'sliding-log': 'السجل المنزلق',
      'sliding-counter': 'العدّاد المنزلق',
      'token-bucket': 'دلو الرموز',
      'leaky-bucket': 'الدلو المثقوب',
    },
    says: {
      'fixed-window': 'تعدّ بالساعة، وتبدأ من جديد مع كل نافذة.',
      'sliding-log': 'يتذكر متى وصل كل طلب: دقيق في أي نافذة.',
      'sliding-counter': 'عدّادان، يُحسب أقدمهما بقدر ما بقي من نافذته.',
      'token-bucket': 'تتدفق الرموز إليه بانتظام، وكل طلب يأخذ رمزًا.',
      'leaky-bucket': 'الدلو نفسه، لكن كل طلب ينتظر دوره.',
    },
    allowed: 'مقبول',
    waiting: 'منتظر',
    refused: 'مرفوض',
    used: 'المستعمل',
    reached: 'يصل',
    client: (index) => `العميل ${index + 1}`,
    worstSecond: 'أسوأ ثانية',
    worstSecondMark: (n) => `أسوأ ثانية: ${n}`,
    worstWindow: 'الأكثر في أي نافذة',
    longestWait: 'أطول انتظار',
    picture: (algorithm) => `${algorithm}: صورة لطلباتها`,
    summary: (allowed, waiting, refused, worst) =>
      `قُبل في الحال: ${count(allowed, REQUESTS)}، وبعد انتظار: ${count(waiting, REQUESTS)}، ورُفض: ${count(refused, REQUESTS)}. وأكثر ما وصل إلى التطبيق في ثانية: ${count(worst, REQUESTS)}.`,
    save: 'احفظ الصورة',
    table: 'في جدول',
    more: (n) => `و${count(n, MORE)}`,
    heads: {
      at: 'الوقت',
      who: 'مَن',
      attempt: 'المحاولة',
      outcome: 'النتيجة',
      left: 'المتبقي',
      wait: 'الانتظار',
    },
    told: 'ماذا يُقال للعميل',
    toldNothing: 'اختر طلبًا: انقر نقطة، أو انتقل إلى صورة واضغط سهمًا.',
    toldOf: (algorithm, at, client, attempt) =>
      `${algorithm}، ${at}، ${client}${attempt > 1 ? `، المحاولة ${attempt}` : ''}`,
    meaning: {
      allowed: 'يمرّ.',
      waiting: (wait) => `يمرّ بعد ${wait}.`,
      refused: (wait) => `يُرفض. وإن لم يأتِ غيره فسيمرّ بعد ${wait}، لا قبلها ولو بجزء من ألف من الثانية.`,
      never: 'يُرفض، ولن ينفع أي انتظار.',
    },
    others: 'الطلب نفسه عند الأخرى',
  },
  live: {
    title: 'حدود المعدّل مباشرةً',
    intro: 'ماذا تفعل حدود التطبيق المثال وهو يعمل، ثانية بثانية.',
    token: 'رمز المدير',
    tokenHint:
      'ما شُغّل به المثال في ADMIN_TOKEN. يذهب إلى خادم هذه الصفحة ومنه إلى المثال، ولا يُحفظ في أي مكان.',
    connect: 'اتصل',
    disconnect: 'اقطع الاتصال',
    states: { connecting: 'جارٍ الاتصال…', live: 'مباشر.' },
    lost: {
      gone: 'المثال لا يجيب.',
      limited: 'المثال يرفض مؤقتًا: استُنفد حدّ المدير نفسه.',
    },
    refused: {
      token: 'المثال لا يعرف هذا الرمز.',
      closed: 'مسارات المدير في المثال مغلقة: شغّله مع ADMIN_TOKEN.',
      absent: 'لا يوجد عرض مباشر في هذا العنوان. افتح الصفحة بالأمر ‎npm run lab -- serve‎.',
    },
    again: (wait) => `محاولة أخرى بعد ${wait}.`,
    freeze: 'ثبّت العرض',
    instance: (pid, uptime) => `العملية ${pid}، تعمل منذ ${number.format(uptime)} ث`,
    store: 'المخزن',
    stores: { memory: 'الذاكرة', valkey: 'Valkey' },
    storeStates: { up: 'يقرّر.', degraded: 'لا يقرّر: تعمل السياسات بما في onStoreFailure.' },
    circuitOpen: 'يُترك وشأنه، ويُسأل من جديد بعد فترات قصيرة.',
    rate: 'القرارات في الثانية',
    ago: (secondsAgo) => (secondsAgo === 0 ? 'الآن' : `قبل ${secondsAgo} ث`),
    policies: 'السياسات',
    shadow: 'ظلّ',
    heads: {
      policy: 'السياسة',
      algorithm: 'الخوارزمية',
      limit: 'الحد',
      second: 'آخر ثانية',
      allowed: 'المقبول في آخر دقيقة',
      refused: 'المرفوض في آخر دقيقة',
      shadow: 'كانت سترفض',
      lately: 'المرفوض في دقيقتين',
    },
    limit: (plan, limit, windowMs) => {
      const much = limit === 'unlimited' ? 'بلا حد' : number.format(limit);
      return `${plan === undefined ? '' : `${plan}: `}${much}${windowMs === undefined ? '' : ` في ${seconds(windowMs)}`}`;
    },
    top: 'الأقرب إلى حدّه',
    topHint: 'في كل النسخ معًا، خلال آخر دقيقة أو اثنتين. المفاتيح الطويلة تظهر مُجزّأة (hash).',
    topUnavailable: 'المخزن لا يجيب.',
    nobody: 'لم يطلب أحد شيئًا بعد.',
    used: (used, limit) => `${number.format(used)} من ${number.format(limit)}`,
    deniedTo: (denied) => `رُفض ${number.format(denied)}`,
    routes: 'المرفوض بحسب المسار في آخر دقيقة',
    none: 'لا شيء.',
  },
};
